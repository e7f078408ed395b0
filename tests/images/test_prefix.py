"""What was sent stays a prefix of what is sent, however many images follow, but for the coarse steps at a limit."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace
from typing import Any

import pytest

import chatmend
from chatmend.rules.image_words import TOO_MANY
from chatmend.targets import resolve
from tests.images.judge import FACTS, refusals
from tests.images.pictures import noise, part, png_header, samples, saved
from tests.scale import examples, sampled


def picture(at: int) -> dict[str, Any]:
    """The image of one turn: mostly small ones, each different; now and then one that needs work."""
    odd = ["thin line", "orientation 6", "jpeg called png", "truncated png", "bmp", "animated gif"]
    if at % 10 == 3:
        return part(samples()[odd[at // 10 % len(odd)]])
    rows = b"".join(b"\0" + struct.pack(">BBB", at, x, y) * 16 for x in range(4) for y in range(4))
    data = base64.b64encode(png_header(16, 16, rows=rows)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def talk(turns: int) -> list[Any]:
    messages: list[Any] = []
    for at in range(turns):
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"Image {at}"}, picture(at)]},
            {"role": "assistant", "content": f"Seen {at}."},
        ]
    return [*messages, {"role": "user", "content": "And?"}]


TURNS = 120


def distinct_in_number() -> list[str]:
    """One target for each number of images that is reached: what is sent changes by that alone."""
    found = {}
    for target in sorted(FACTS):
        limits = resolve(target).limits.images
        most = limits.max_images or TURNS
        found.setdefault((limits.vision, min(most, TURNS)), target)
    return sorted(found.values())


def steps(images: int, most: int | None) -> int:
    """How often the oldest go while images are added one by one."""
    if most is None or images <= most:
        return 0
    return 1 + (images - most - 1) // (most - int(most * 0.75) + 1)


@pytest.mark.parametrize("target", sampled(sorted(FACTS), distinct_in_number()))
def test_adding_images_one_by_one_changes_what_was_sent_only_in_coarse_steps(target: str) -> None:
    limits = resolve(target).limits.images
    is_long = limits.max_images and 30 <= limits.max_images < TURNS  # else 40 turns pass the limit
    turns = TURNS if is_long else examples(40, TURNS)
    whole = talk(turns)
    sent: list[Any] = []
    changed, counted = 0, 0
    for turn in range(1, turns + 1):
        messages = [*whole[: 2 * turn - 1]]
        done = chatmend.repair(messages, target)
        if turn % 12 == 0:
            assert refusals(done.messages, FACTS[target]) == []
        if done.messages[: len(sent)] != sent:
            changed += 1
            assert any(change.code == "IMG012" for change in done.changes)
        if turn % 5 == 0:
            fed = chatmend.repair([*sent, *whole[len(sent) : 2 * turn - 1]], target)
            assert fed.messages == done.messages
        sent = done.messages
        kept = sum(
            p.get("type") == "image_url"
            for m in sent
            if isinstance(m["content"], list)
            for p in m["content"]
        )
        counted = max(counted, kept)
    whole_images = sum(picture(at) != part(samples()["truncated png"]) for at in range(turns))
    assert changed == (steps(whole_images, limits.max_images) if limits.vision else 0)
    assert counted <= (limits.max_images or turns)
    text = str(sent)
    assert all(f"Image {at}" in text for at in range(turns))


def test_so_they_do_where_the_bytes_of_a_request_are_limited() -> None:
    heavy = [saved(noise(700, 500, 255, seed), "JPEG", quality=95) for seed in range(40)]
    texts = [base64.b64encode(data).decode() for data in heavy]
    sent: list[Any] = []
    changed = 0
    messages: list[Any] = []
    for text in texts:
        image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{text}"}}
        messages += [
            {"role": "user", "content": [image]},
            {"role": "assistant", "content": "Seen."},
        ]
        done = chatmend.repair(messages, "github_copilot/gpt-4.1").messages
        assert sum(len(str(message)) for message in done) < 5_000_000
        changed += done[: len(sent)] != sent
        sent = done
    total = sum(map(len, texts))
    assert 1 <= changed <= 1 + (total - 5_000_000) // 1_250_000 + 1


def test_what_went_for_good_is_reported_once_a_message_with_how_many() -> None:
    done = chatmend.repair(talk(12), "mistral/mistral-medium-latest")
    gone = [change for change in done.changes if change.code == "IMG012"]
    assert [(change.index, change.effect.name) for change in gone] == [
        (at, "DROPS") for at in (0, 2, 4, 6, 8, 10)
    ]
    assert chatmend.replay(talk(12), done.changes) == done.messages


def test_links_count_as_images_too() -> None:
    link = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}
    messages = [{"role": "user", "content": [link] * 9}]
    sent = chatmend.repair(messages, "mistral/mistral-medium-latest").messages
    assert [item["type"] for item in sent[0]["content"]] == ["text"] * 3 + ["image_url"] * 6


def test_nothing_goes_where_dropping_is_not_allowed() -> None:
    messages = talk(12)
    policy = chatmend.Policy(allow=chatmend.Effect.DEGRADES)
    done = chatmend.repair(messages, "mistral/mistral-medium-latest", policy=policy)
    left = [change for change in done.changes if not change.applied]
    assert {change.code for change in left} == {"IMG012"}
    assert "Image removed" not in str(done.messages)


def _contents(at: int) -> list[Any]:
    inline = {"inlineData": {"mimeType": "image/png", "data": samples()["one pixel"].text}}
    answer = {"name": "look", "response": {"output": "seen"}, "parts": [inline]}
    call = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}
    return [
        {"role": "user", "parts": [{"text": f"Image {at}"}, inline]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": answer}]},
        {"role": "model", "parts": [{"text": "Seen."}]},
    ]


def _items(at: int) -> list[Any]:
    image = part(samples()["one pixel"], "input_image")
    return [
        {"role": "user", "content": [{"type": "input_text", "text": f"Image {at}"}, image]},
        {"type": "function_call", "call_id": f"call_{at}", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"call_{at}", "output": [image]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Seen."}]},
    ]


def _blocks(at: int) -> list[Any]:
    image = part(samples()["one pixel"], "anthropic")
    result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": [image]}
    return [
        {"role": "user", "content": [{"type": "text", "text": f"Image {at}"}, image]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{at}", "name": "look", "input": {}}],
        },
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "Seen."}]},
    ]


@pytest.mark.parametrize(
    ("target", "dialect", "turn", "most"),
    [
        ("gemini/gemini-3-pro-preview", "gemini_contents", _contents, 3600),
        ("openai/gpt-5.6", "openai_responses", _items, 1500),
        ("anthropic/claude-sonnet-4-5", "anthropic_messages", _blocks, 100),
    ],
)
def test_the_oldest_go_in_every_wire_format_also_from_tool_results(
    target: str, dialect: str, turn: Any, most: int
) -> None:
    messages = [message for at in range(most // 2 + 1) for message in turn(at)]
    done = chatmend.repair(messages, target, dialect=dialect)
    said = repr(done.messages)
    assert said.count(TOO_MANY) == most + 1 - int(
        most * 0.75
    )  # the last but one passes the limit, the last is free
    assert repr(messages).count(samples()["one pixel"].text) == most + 2
    assert all(f"Image {at}'" in said for at in range(most // 2 + 1))
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages


def test_raw_bytes_count_as_the_base64_that_they_are_sent_as() -> None:
    target = resolve("gemini/gemini-3-pro-preview")
    images = replace(target.limits.images, max_request_bytes=1_000_000)
    target = replace(target, limits=replace(target.limits, images=images), spoken={})
    data = samples()["screenshot"].data
    part_of = {"inlineData": {"mimeType": "image/png", "data": data}}
    messages = [{"role": "user", "parts": [part_of]} for _ in range(12 * 100_000 // len(data))]
    sent = chatmend.repair(messages, target, dialect="gemini_contents").messages
    kept = sum("inlineData" in item for message in sent for item in message["parts"])
    assert 0 < kept * len(data) * 4 / 3 <= 1_000_000
    assert kept < len(messages)


def test_so_they_do_from_langchains_messages() -> None:
    core = pytest.importorskip("langchain_core.messages")
    image = part(samples()["one pixel"])
    messages = [
        core.HumanMessage([{"type": "text", "text": f"Image {at}"}, image]) for at in range(9)
    ]
    content = [
        item
        for message in chatmend.repair(messages, "mistral/mistral-medium-latest").messages
        for item in message.content
    ]
    assert [item["type"] for item in content].count("image_url") == 6
    assert [item["text"] for item in content if item["type"] == "text"].count(TOO_MANY) == 3
