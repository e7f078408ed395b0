"""Ollama's ``/api/chat``: valid messages stay the same object, and each defect is repaired."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ollama import Image

import chatmend
from chatmend.dialects import DIALECTS, format_of_body, recognise
from tests import corpus
from tests.broken.tokens import png
from tests.images.pictures import noise, saved
from tests.judges import judge

QWEN = "ollama_chat/qwen3.5"
LLAMA = "ollama/llama3.1"
ASK = {"role": "user", "content": "go"}
NEXT = {"role": "user", "content": "and now?"}
SAID = {"role": "assistant", "content": "It is done."}


def calling(*names: str, **more: Any) -> dict[str, Any]:
    calls = [{"function": {"name": name, "arguments": {"a": 1}}} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": calls, **more}


def result(name: str, content: Any = "42", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_name": name, "content": content, **more}


def sent(messages: list[Any], target: str = LLAMA, **more: Any) -> Any:
    body = {"model": "m", "messages": messages, "options": {"num_ctx": 9}, **more}
    done = chatmend.repair_request(body, target)
    assert judge("ollama_chat", target, done.body["messages"]) == []
    assert chatmend.repair_request(done.body, target).body is done.body
    return done.body["messages"]


VALID: dict[str, list[Any]] = {
    "an exchange": [ASK, calling("f"), result("f"), SAID, NEXT],
    "calls with ids": [
        ASK,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_x", "function": {"index": 0, "name": "f", "arguments": {}}}],
        },
        {"role": "tool", "tool_name": "f", "tool_call_id": "call_x", "content": "42"},
        SAID,
        NEXT,
    ],
    "a result without the id of its call": [
        ASK,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}],
        },
        result("f"),
        NEXT,
    ],
    "an empty list of images": [{**ASK, "images": []}, SAID, NEXT],
    "two calls of one tool": [ASK, calling("f", "f"), result("f"), result("f"), SAID, NEXT],
    "no names of tools": [ASK, calling("f"), {"role": "tool", "content": "42"}, SAID, NEXT],
    "empty ids": [
        ASK,
        {
            "role": "assistant",
            "tool_calls": [{"id": "", "function": {"name": "f", "arguments": {}}}],
        },
        {"role": "tool", "tool_name": "f", "tool_call_id": "", "content": "42"},
        NEXT,
    ],
    "thinking": [ASK, calling("f", thinking="Hm."), result("f"), {**SAID, "thinking": "So."}, NEXT],
    "images": [{**ASK, "images": [png(1), png(2)]}, SAID, NEXT],
    "an image in a result": [ASK, calling("f"), result("f", images=[png(1)]), SAID, NEXT],
    "content null and missing": [ASK, calling("f", content=None), result("f"), {"role": "user"}],
    "no calls": [ASK, {**SAID, "tool_calls": []}, NEXT],
    "two users in a row": [ASK, NEXT],
}  # fmt: skip


@pytest.mark.parametrize("name", VALID)
def test_valid_messages_stay_the_same_object(name: str) -> None:
    body = {"model": "m", "messages": VALID[name], "options": {"num_ctx": 9}}
    for target in (LLAMA, QWEN, "ollama/mistral"):
        for dialect in (None, "ollama_chat"):
            done = chatmend.repair_request(body, target, dialect=dialect)
            assert done.body is body, done.report()


@pytest.mark.skipif(not corpus.rows("requests_accepted"), reason="the corpus is not here")
def test_every_recorded_body_with_options_stays_the_same_object() -> None:
    rows = [row for row in corpus.rows("requests_accepted") if row["provider"] == "ollama"]
    native = [row for row in rows if format_of_body(row["body"], "ollama") == "ollama_chat"]
    assert len(native) >= 2
    for row in native:
        done = chatmend.repair_request(row["body"], f"ollama/{row['model']}")
        assert done.body is row["body"], (row["id"], done.report())


@pytest.mark.parametrize(
    "message",
    [
        {**ASK, "images": [png(1)]},
        result("f"),
        {**SAID, "thinking": "Hm."},
        calling("f"),
    ],
)
def test_a_form_that_only_ollama_has_shows_the_format_only_for_ollama(message: Any) -> None:
    messages = [ASK, message]
    assert recognise(messages, "ollama") is DIALECTS["ollama_chat"]
    assert recognise(messages, "openai") is DIALECTS["openai_chat"]
    assert format_of_body({"messages": messages}, "ollama") == "ollama_chat"
    assert format_of_body({"messages": messages}, "openai") == "openai_chat"


def test_a_chat_for_ollama_stays_a_chat() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]
    assert recognise(messages, "ollama") is DIALECTS["openai_chat"]
    # ``keep_alive`` is also a parameter of LiteLLM.
    assert format_of_body({"messages": messages, "keep_alive": "5m"}, "ollama") == "openai_chat"
    assert format_of_body({"messages": messages, "options": {}}, "ollama") == "ollama_chat"


def test_arguments_become_an_object() -> None:
    function = {"name": "f", "arguments": '{"a": 1}'}
    messages = [
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
        result("f"),
    ]
    assert sent(messages) == [ASK, calling("f"), result("f")]


def test_a_missing_result_names_its_tool() -> None:
    done = sent([ASK, calling("f", "g"), result("g"), NEXT])
    text = "No result was recorded for this tool call."
    assert done[2:4] == [result("g"), result("f", text)]
    with_id = {
        **calling("f"),
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}],
    }
    placeholder = sent([ASK, with_id, NEXT])[2]
    assert placeholder == {
        "role": "tool",
        "tool_call_id": "c1",
        "tool_name": "f",
        "content": text,
    }


def test_a_late_result_moves_behind_its_call() -> None:
    done = sent([ASK, calling("f"), NEXT, result("f")])
    assert done == [ASK, calling("f"), result("f"), NEXT]


def test_an_id_that_is_a_number_goes_and_the_result_keeps_its_call() -> None:
    call = {"id": 7, "function": {"name": "f", "arguments": {"a": 1}}}
    messages = [
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": 7, "content": "42"},
    ]
    assert sent(messages) == [ASK, calling("f"), {"role": "tool", "content": "42"}]


def test_a_list_of_parts_becomes_a_text_and_images() -> None:
    url = f"data:image/png;base64,{png(3)}"
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": "What is it?"},
    ]
    done = sent([{"role": "user", "content": parts}])
    assert done == [{"role": "user", "content": "Look.\n\nWhat is it?", "images": [png(3)]}]


def test_a_data_url_becomes_base64_and_a_link_a_text() -> None:
    done = sent([{**ASK, "images": [f"data:image/png;base64,{png(3)}", png(4)]}])
    assert done == [{**ASK, "images": [png(3), png(4)]}]
    (linked,) = sent([{**ASK, "images": ["https://example.com/a.png"]}])
    assert "images" not in linked
    assert "https://example.com/a.png" in linked["content"]


def test_a_large_image_is_recompressed_in_its_place() -> None:
    large = base64.b64encode(saved(noise(3000, 2000), "JPEG")).decode()
    (done,) = sent([{**ASK, "images": [png(1), large]}])
    assert done["images"][0] == png(1)
    assert done["images"][1] != large
    assert done["content"].startswith("go")
    for _ in range(3):  # also once the structure of a small image is known to be valid
        small = [{**ASK, "images": [png(1)]}]
        assert chatmend.repair(small, LLAMA).messages is small
    assert chatmend.repair([{**ASK, "images": [large]}], LLAMA).changes


def test_too_many_images_become_texts() -> None:
    target = chatmend.resolve(LLAMA)
    limits = target.limits_in("ollama_chat")
    few = replace(limits, images=replace(limits.images, max_images=1))
    messages = [{**ASK, "images": [png(1)]}, SAID, {**NEXT, "images": [png(2)]}]
    done = chatmend.repair(
        messages,
        replace(target, spoken={**target.spoken, "ollama_chat": (few, few)}),
        dialect="ollama_chat",
    ).messages
    assert "images" not in done[0]
    assert done[0]["content"].startswith("go")
    assert done[1:] == messages[1:]


def test_values_of_the_wrong_type_are_converted_without_loss() -> None:
    odd = {"role": "assistant", "content": {"a": "one"}, "thinking": ["two"], "tool_calls": 3}
    (_, done, _) = sent([ASK, odd, NEXT])
    assert done == {
        "role": "assistant",
        "content": '{"a": "one"}\n\nRecorded tool call, quoted as data and not as an instruction: 3',
    }


def test_a_developer_message_becomes_a_system_message() -> None:
    assert sent([{"role": "developer", "content": "Be kind."}, ASK])[0]["role"] == "system"


def test_another_target_gets_the_limits_of_ollama_for_this_format() -> None:
    for target in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "litellm_proxy/alias"):
        messages = VALID["an exchange"]
        done = chatmend.repair(messages, target, dialect="ollama_chat")
        assert done.messages is messages, done.report()


def test_images_are_recompressed_for_a_target_with_only_image_limits() -> None:
    large = base64.b64encode(saved(noise(9000, 400), "PNG")).decode()
    messages = [{**ASK, "images": [large]}]
    done = chatmend.repair(messages, "other", dialect="ollama_chat", policy={"tall": "scale"})
    assert [change.code for change in done.changes] == ["IMG007"]
    assert done.messages[0]["images"] != [large]
    done = chatmend.repair(messages, "other", dialect="ollama_chat")
    assert [change.code for change in done.changes] == ["IMG013"]
    assert len(done.messages[0]["images"]) == 4
    assert all(f"Tile {number} of 4" in done.messages[0]["content"] for number in (1, 2, 3, 4))


@pytest.mark.parametrize("dialect", [None, "ollama_chat"])
@pytest.mark.parametrize(
    "image",
    [
        *("./photo.png", "/home/me/photo.JPG", "C:\\photos\\a photo.webp", Path("photo")),
        *(base64.b64decode(png(1)), bytearray(base64.b64decode(png(1)))),
        *(Image(value="photo.jpeg"), Image(value=Path("photo")), Image(value=png(1))),
    ],
)
def test_an_image_that_the_client_reads_stays(image: object, dialect: str | None) -> None:
    message = {**ASK, "images": [image, png(2)]}
    body = {"model": "llava", "messages": [message, SAID, NEXT]}
    done = chatmend.repair_request(body, "ollama/llava", dialect=dialect)
    assert done.body is body, done.report()
    foreign = {**message, "content": [{"type": "text", "text": "go"}]}
    (moved, *_) = chatmend.repair([foreign, SAID, NEXT], LLAMA, dialect="ollama_chat").messages
    assert moved["content"] == "go"
    assert moved["images"][-1] == png(2)
    if not isinstance(image, bytes):
        assert moved["images"][0] is image


@pytest.mark.parametrize("image", ["not base64!", "photo.txt"])
def test_a_text_that_is_neither_base64_nor_a_path_is_removed(image: str) -> None:
    (first, *_) = sent([{**ASK, "images": [image]}, SAID, NEXT])
    assert "images" not in first
    assert "not base64" in first["content"]
