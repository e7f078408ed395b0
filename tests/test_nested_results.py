"""The block of a result inside the result of the same call is replaced by its content."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

GPT, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
USER = {"role": "user", "content": "go"}
CALL = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def block(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "call_a", "content": content, **more}


def chat(*content: Any) -> list[Any]:
    return [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_a", "content": [*content]},
    ]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([block("18 degrees")], [text("18 degrees")]),
        ([block([text("18"), text("degrees")])], [text("18"), text("degrees")]),
        ([text("It is:"), block("18 degrees")], [text("It is:"), text("18 degrees")]),
        ([block([block([block("18 degrees")])])], [text("18 degrees")]),
        ([{"type": "tool_result", "content": "18 degrees"}], [text("18 degrees")]),
        ([block(None)], [text("")]),
        ([block([])], [text("")]),
    ],
)
def test_the_block_in_a_tool_message_becomes_its_content(content: Any, sent: Any) -> None:
    done = chatmend.repair(chat(*content), GPT)
    assert done.messages[2] == {"role": "tool", "tool_call_id": "call_a", "content": sent}
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("TOOL020", "RESHAPES")
    ]
    assert chatmend.repair(done.messages, GPT).messages is done.messages
    assert chatmend.replay(chat(*content), done.changes) == done.messages


@pytest.mark.parametrize(("failed", "effect"), [(True, "DEGRADES"), (False, "RESHAPES")])
def test_the_flag_of_a_failed_call_is_reported_as_lost(failed: object, effect: str) -> None:
    (change,) = chatmend.repair(chat(block("18 degrees", is_error=failed)), GPT).changes
    assert (change.code, change.effect.name) == ("TOOL020", effect)


def test_the_block_of_another_call_is_quoted() -> None:
    other = {**block("18 degrees"), "tool_use_id": "call_b"}
    (result,) = chatmend.repair(chat(other), GPT).messages[2]["content"]
    assert (result["type"], "call_b" in result["text"]) == ("text", True)


def test_the_block_of_converse_becomes_its_content() -> None:
    held = {"toolUseId": "call_a", "content": [{"text": "18 degrees"}], "status": "success"}
    nested = {"toolResult": held}
    assert chatmend.repair(chat(nested), GPT).messages[2]["content"] == [text("18 degrees")]
    messages = [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "call_a", "name": "f", "input": {}}},
        ]},
        {"role": "user", "content": [{"toolResult": {**held, "content": [nested]}}]},
    ]  # fmt: skip
    done = chatmend.repair(messages, "bedrock/us.amazon.nova-pro-v1:0")
    assert done.messages == [*messages[:2], {"role": "user", "content": [nested]}]


def test_an_image_in_the_block_gets_the_form_of_the_target() -> None:
    source = {"type": "url", "url": "https://example.com/a.png"}
    done = chatmend.repair(chat(block([{"type": "image", "source": source}])), GPT)
    assert any(
        part == {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
        for message in done.messages
        if isinstance(message["content"], list)
        for part in message["content"]
    )


def test_a_block_in_a_block_of_anthropic_becomes_its_content() -> None:
    use = {"type": "tool_use", "id": "call_a", "name": "f", "input": {}}
    messages = [
        USER,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [block([block("18 degrees")])]},
    ]
    done = chatmend.repair(messages, CLAUDE)
    assert done.messages[2]["content"] == [block([text("18 degrees")])]


def test_nothing_is_changed_at_an_unknown_server() -> None:
    messages = chat(block("18 degrees"))
    assert chatmend.repair(messages, "other").messages is messages
