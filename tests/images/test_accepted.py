"""Every image of the corpus, for every target: accepted by a judge that is not ours, once and for all, nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.images import probe_image
from tests.images.judge import FACTS, refusals
from tests.images.pictures import part, said, samples, shapes
from tests.scale import sampled

TARGETS = sorted(FACTS)


def distinct_in_kind() -> list[str]:
    """One target for each set of limits on what an image is, sizes and numbers aside."""
    found = {}
    for target in TARGETS:
        limits = chatmend.resolve(target).limits.images
        written = (limits.vision, limits.types, limits.label_checked, limits.label_spelling)
        read = (
            limits.strict_base64,
            limits.decoded,
            limits.animation,
            limits.orientation,
            limits.plain_only,
        )
        found.setdefault((written, read), target)
    return sorted(found.values())


def texts(messages: list[Any]) -> str:
    return json.dumps(
        [
            m["content"] if isinstance(m["content"], str) else [p.get("text") for p in m["content"]]
            for m in messages
        ]
    )


@pytest.mark.parametrize("target", sampled(TARGETS, distinct_in_kind()))
def test_every_image_is_accepted_after_one_repair_and_untouched_by_the_next(target: str) -> None:
    refused = {}
    at, every = TARGETS.index(target), list(samples())
    for name in sampled(every, every[at % 5 :: 5]):
        sample = samples()[name]
        messages = said(sample, words=f"What is {name}?")
        done = chatmend.repair(messages, target)
        if reasons := refusals(done.messages, FACTS[target]):
            refused[name] = reasons
        again = chatmend.repair(done.messages, target)
        assert again.messages is done.messages, (name, again.report())
        assert f"What is {name}?" in texts(done.messages), name
        assert chatmend.replay(messages, done.changes) == done.messages, name
        assert chatmend.check(done.messages, target) == (), name
    assert refused == {}


@pytest.mark.parametrize(
    "name", ["large photo", "orientation 6", "jpeg called png", "truncated png", "screenshot"]
)
@pytest.mark.parametrize("shape", sorted(shapes()))
@pytest.mark.parametrize(
    "target", ["anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "gemini/gemini-2.5-flash"]
)
def test_an_image_is_found_in_every_form_of_content_part(
    name: str, shape: str, target: str
) -> None:
    sample = samples()[name]
    dialect = (
        "openai_chat" if shape == "bedrock" else None
    )  # without a name a Converse body is left alone
    done = chatmend.repair(said(sample, shape), target, dialect=dialect)
    assert refusals(done.messages, FACTS[target]) == [], done.report()
    assert ("Image removed" in texts(done.messages)) == sample.hopeless
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages


@pytest.mark.parametrize(
    "name", ["large photo", "orientation 6", "jpeg called png", "truncated png", "screenshot"]
)
@pytest.mark.parametrize("shape", sorted(shapes()))
def test_so_it_is_in_messages_of_blocks_and_inside_tool_results(name: str, shape: str) -> None:
    target, sample = "anthropic/claude-sonnet-4-5", samples()[name]
    image = part(sample, shape)
    messages = [
        {"role": "user", "content": [image]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}],
        },
    ]
    done = chatmend.repair(messages, target, dialect="anthropic_messages")
    assert refusals(done.messages, FACTS[target]) == [], done.report()
    blocks = [done.messages[0]["content"][0], done.messages[2]["content"][0]["content"][0]]
    assert [block["type"] for block in blocks] == ["text" if sample.hopeless else "image"] * 2
    assert (
        chatmend.repair(done.messages, target, dialect="anthropic_messages").messages
        is done.messages
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_sound_small_image_is_left_alone_by_every_target_that_sees(target: str) -> None:
    messages = said(samples()["one pixel"])
    done = chatmend.repair(messages, target)
    grown = target.startswith("dashscope/")  # wants more than ten pixels a side
    assert (done.messages is messages) is (FACTS[target].vision and not grown), done.report()


def test_what_cannot_be_saved_says_what_it_was_and_leaves_the_rest() -> None:
    sample = samples()["bomb of one bit"]
    before = said(sample)
    before[0]["content"][1]["cache_control"] = {"type": "ephemeral"}
    content = chatmend.repair(before, "anthropic/claude-sonnet-4-5").messages[0]["content"]
    assert content[0] is before[0]["content"][0]
    assert content[1]["text"] == (
        "Image removed (PNG, 30000 x 30000, 109.4 KB): decoding it takes 2096.1 MB of memory, and the budget is 512 MB "
        "(raise it with Recompressor(memory=...) or CHATMEND_IMAGE_MEMORY)."
    )
    assert content[1]["cache_control"] == {"type": "ephemeral"}


def test_links_and_ids_of_files_are_never_touched() -> None:
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://example.invalid/a.bmp"}},
                {"type": "image_url", "image_url": "https://example.invalid/b.tiff"},
            ],
        }
    ]
    assert chatmend.repair(messages, "openai/gpt-4.1").messages is messages
    blocks = [
        {
            "role": "user",
            "content": [
                {
                    "type": "image",
                    "source": {"type": "url", "url": "https://example.invalid/a.heic"},
                },
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            ],
        }
    ]
    assert (
        chatmend.repair(
            blocks, "anthropic/claude-sonnet-4-5", dialect="anthropic_messages"
        ).messages
        is blocks
    )


def test_other_changes_images_over_common_limits_and_nothing_else() -> None:
    for name in (
        "jpeg called png",
        "truncated png",
        "bmp",
        "animated gif",
        "orientation 3",
        "html",
        "cmyk photo",
    ):
        messages = said(samples()[name])
        assert chatmend.repair(messages, "other").messages is messages, name
    nonsense = [
        {"role": "critic"},
        7,
        None,
        {"role": "tool", "content": [part(samples()["large screenshot"])]},
    ]
    done = chatmend.repair(nonsense, "other")
    assert [change.code for change in done.changes] == ["IMG007"]
    assert done.messages[:3] == nonsense[:3]


def test_bytes_stay_bytes_where_the_wire_format_has_bytes() -> None:
    image = part(samples()["orientation 6"], "bedrock")
    messages = [{"role": "user", "content": [image]}]
    done = chatmend.repair(
        messages, "bedrock/invoke/us.amazon.nova-pro-v1:0", dialect="openai_chat"
    )
    becomes = done.messages[0]["content"][0]["image"]
    assert isinstance(becomes["source"]["bytes"], bytes)
    assert becomes["format"] == "jpeg"
    assert probe_image(becomes["source"]["bytes"]).orientation == 1
