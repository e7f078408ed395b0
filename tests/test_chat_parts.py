"""Parts of another role or format within chats: accepted ones stay the same object, others are converted."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.placeholders import CONTINUED
from tests.broken.tokens import png

ASK = {"role": "user", "content": "go"}
CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "abcdefgh1", "content": "42"}
REFUSAL = {"type": "refusal", "refusal": "I can't."}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(1)}"}}


SUMMARY = {
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "I look.", "signature": "EqoBCkgIARABGAIiQAhC"}],
}
CACHED_IMAGE = {"type": "image_url", "image_url": None, "uuid": "sku-1"}
"""An image that a vLLM server has from an earlier request."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def repaired(messages: list[Any], target: str) -> list[Any]:
    done = chatmend.repair(messages, target, dialect="openai_chat")
    again = chatmend.repair(done.messages, target, dialect="openai_chat")
    assert again.messages is done.messages, again.report()
    return done.messages


@pytest.mark.parametrize(
    ("target", "messages"),
    [
        ("openai/gpt-4o", [ASK, {"role": "assistant", "content": [REFUSAL]}, ASK]),
        ("hosted_vllm/Qwen/Qwen3-32B", [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]),
        ("xai/grok-4", [ASK, {"role": "assistant", "tool_calls": [CALL]}, RESULT]),
        ("xai/grok-4", [ASK, {"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT]),
        ("openai/gpt-4o", [{"role": "user", "content": [{**IMAGE, "text": "unchecked elsewhere"}]}]),
        ("zai/glm-4.6v", [{"role": "user", "content": [text("a"), IMAGE]}]),
        ("groq/openai/gpt-oss-120b", [{"role": "user", "content": [{"type": "document", "document": {"data": {"a": 1}}}]}]),
        ("dashscope/qwen-doc-turbo", [{"role": "user", "content": [{"type": "doc_url", "doc_url": ["https://example.com/a.pdf"]}]}]),
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", [{"role": "user", "content": [{"type": "guarded_text", "text": "x"}]}]),
        ("databricks/databricks-claude-sonnet-4-5", [ASK, {"role": "assistant", "content": [SUMMARY, text("done")]}, ASK]),
        ("hosted_vllm/Qwen/Qwen3-VL-8B-Instruct", [{"role": "user", "content": [CACHED_IMAGE, text("a")]}]),
    ],
)  # fmt: skip
def test_what_the_target_accepts_stays_the_same_object(target: str, messages: list[Any]) -> None:
    assert chatmend.repair(messages, target, dialect="openai_chat").messages is messages


@pytest.mark.parametrize(
    "target",
    ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "xai/grok-4", "groq/llama-3.3-70b-versatile"],
)
def test_a_refusal_of_a_user_becomes_its_text(target: str) -> None:
    messages = [{"role": "user", "content": [REFUSAL]}]
    (change,) = chatmend.repair(messages, target).changes
    assert (change.code, change.effect) == ("PART001", chatmend.Effect.RESHAPES)
    assert repaired(messages, target) == [{"role": "user", "content": [text("I can't.")]}]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "deepseek/deepseek-chat", "zai/glm-4.6"])
def test_text_parts_of_the_responses_api_become_text_parts(target: str) -> None:
    messages = [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        {"role": "user", "content": "c"},
    ]
    assert repaired(messages, target) == [
        {"role": "user", "content": [text("a")]},
        {"role": "assistant", "content": [text("b")]},
        messages[2],
    ]


def test_null_next_to_calls_becomes_an_empty_text_for_xai() -> None:
    messages = [ASK, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT]
    assert repaired(messages, "xai/grok-4")[1]["content"] == ""
    assert repaired(messages, "openai/gpt-4o") is messages


def test_a_text_within_an_image_part_becomes_a_part_of_its_own_for_glm() -> None:
    captioned = {"role": "user", "content": [{**IMAGE, "text": "The door."}]}
    assert repaired([captioned], "zai/glm-4.6v") == [
        {"role": "user", "content": [text("The door."), IMAGE]}
    ]
    empty = {"role": "user", "content": [text("a"), {**IMAGE, "text": ""}]}
    assert repaired([empty], "zai/glm-4.6v") == [{"role": "user", "content": [text("a"), IMAGE]}]


def test_a_file_in_a_text_part_is_judged_like_a_file_of_its_own() -> None:
    mixed = {"type": "text", "text": "see", "file": {"file_id": "file-abcd1234"}}
    messages = [{"role": "user", "content": [mixed]}]
    done = chatmend.repair(messages, "zai/glm-4.6", dialect="openai_chat")
    assert [part["text"] for part in done.messages[0]["content"]] == [
        "Document not available (file-abcd1234): it is stored at OpenAI.",
        "see",
    ]
    assert not chatmend.check(done.messages, "zai/glm-4.6", dialect="openai_chat")


PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
DOCUMENT = {"type": "document", "source": PDF}


def test_a_document_that_only_users_may_send_becomes_a_file_in_a_result() -> None:
    result = {**RESULT, "content": [text("See:"), DOCUMENT]}
    messages = [{"role": "user", "content": [text("a"), DOCUMENT]}, {"role": "assistant", "content": None, "tool_calls": [CALL]}, result]  # fmt: skip
    asked, _, answered = repaired(messages, "anthropic/claude-sonnet-4-6")
    assert asked is messages[0]
    (_, file) = answered["content"]
    assert file["file"]["file_data"] == f"data:application/pdf;base64,{PDF['data']}"


@pytest.mark.parametrize(
    "target",
    ["anthropic/claude-sonnet-4-6", "gemini/gemini-2.5-flash", "bedrock/us.amazon.nova-pro-v1:0"],
)
def test_a_refusal_that_litellm_drops_becomes_its_text(target: str) -> None:
    messages = [ASK, {"role": "assistant", "content": [REFUSAL]}, ASK]
    assert repaired(messages, target)[1] == {"role": "assistant", "content": [text("I can't.")]}


def test_a_file_in_a_result_that_becomes_text_is_reported_as_dropped() -> None:
    sound = {"type": "audio", "audio": {"data": "UklGRiQAAABXQVZFZm10IA==", "format": "wav"}}
    messages = [ASK, {"role": "assistant", "content": None, "tool_calls": [CALL]}, {**RESULT, "content": [sound]}]  # fmt: skip
    done = chatmend.repair(messages, "bedrock/us.amazon.nova-pro-v1:0", dialect="openai_chat")
    assert max(change.effect for change in done.changes) == chatmend.Effect.DROPS


UNSET_TEXTS = [
    {"type": "text", "text": None},
    {"type": "text", "text": None, "annotations": [], "citations": None},
    {"type": "output_text", "text": None},
]


@pytest.mark.parametrize("part", UNSET_TEXTS)
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic_messages"])
@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-6"])
def test_null_as_text_is_an_empty_text(target: str, dialect: str, part: dict[str, Any]) -> None:
    messages = [ASK, {"role": "assistant", "content": [part, text("a")]}, ASK]
    done = chatmend.repair(messages, target, dialect=dialect)
    content = done.messages[1]["content"]
    assert [held["text"] for held in content if held["text"]] == ["a"]
    assert "null" not in str(content)
    assert {change.effect for change in done.changes} == {chatmend.Effect.RESHAPES}
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages


def test_null_as_the_only_text_is_an_empty_message() -> None:
    messages = [ASK, {"role": "assistant", "content": [{"type": "text", "text": None}]}, ASK]
    claude = repaired(messages, "anthropic/claude-sonnet-4-6")
    assert claude == [ASK, {"role": "assistant", "content": CONTINUED}, ASK]
    assert repaired(messages, "openai/gpt-4o")[1]["content"] == [text("")]


def test_the_cache_marker_of_an_unset_text_moves_to_the_text_before_it() -> None:
    marker = {"type": "ephemeral"}
    unset = {"type": "text", "text": None, "cache_control": marker}
    (sent,) = repaired(
        [{"role": "user", "content": [text("a"), unset]}], "anthropic/claude-sonnet-4-6"
    )
    assert sent["content"] == [{**text("a"), "cache_control": marker}]


def test_other_content_next_to_null_is_kept() -> None:
    part = {"type": "text", "text": None, "words": "kept"}
    (sent,) = repaired([{"role": "user", "content": [part]}], "openai/gpt-4o")
    assert "kept" in sent["content"][0]["text"]


def test_an_image_that_another_server_has_becomes_a_note() -> None:
    messages = [{"role": "user", "content": [CACHED_IMAGE, text("a")]}]
    (part, _) = repaired(messages, "openai/gpt-4o")[0]["content"]
    assert (part["type"], json.loads(part["text"])) == ("text", CACHED_IMAGE)
