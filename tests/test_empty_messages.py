"""Empty messages (TEXT004): first what must not change, then the makers and hosts that refuse them."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.placeholders import CONTINUED

USER = {"role": "user", "content": "hi"}
OPEN_WEIGHTS = (
    "fireworks_ai/kimi-k2",
    "together_ai/moonshotai/Kimi-K2.5",
    "groq/moonshotai/kimi-k2",
    "nvidia_nim/moonshotai/kimi-k2",
)
AT_MOONSHOT = ("moonshot/kimi-k3", "openrouter/moonshotai/kimi-k3")
KIMI = (*AT_MOONSHOT, "openrouter/moonshotai/kimi-k2.6", "openai_compatible/kimi-k3")
NOTHING: list[Any] = ["", [], [{"type": "text", "text": ""}]]


def says(content: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def repaired(messages: list[Any], target: str, dialect: str = "openai_chat") -> list[Any]:
    done = chatmend.repair(messages, target, dialect=dialect)
    assert chatmend.replay(messages, done.changes) == done.messages
    assert chatmend.repair(done.messages, target, dialect=dialect).messages is done.messages
    return done.messages


CLAUDE = (
    "anthropic/claude-sonnet-4-6",
    "bedrock/invoke/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "vertex_ai/claude-sonnet-4-5",
    "azure_ai/claude-sonnet-4-5",
)
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
NO_CONTENT: list[dict[str, Any]] = [
    {"content": ""}, {}, {"content": []}, {"content": None}, {"content": " "},
    {"content": [{"type": "text", "text": ""}]},
]  # fmt: skip


def with_result(**more: Any) -> list[Any]:
    result = {"type": "tool_result", "tool_use_id": "t1", **more}
    return [USER, says([CALL]), says([result], "user")]


@pytest.mark.parametrize("target", CLAUDE)
def test_an_empty_result_of_claude_is_unchanged_unless_it_is_an_error(target: str) -> None:
    for more in ({"content": ""}, {}, {"content": "", "is_error": False}):
        messages = with_result(**more)
        assert repaired(messages, target, "anthropic_messages") is messages
    said = with_result(content=[{"type": "text", "text": "failed"}], is_error=True)
    assert repaired(said, target, "anthropic_messages") is said


def test_litellm_does_not_send_the_mark_of_a_failed_result() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [USER, says(None, tool_calls=[call])]
    messages.append(says("", "tool", tool_call_id="c1", is_error=True))
    assert repaired(messages, "anthropic/claude-sonnet-4-6") is messages


@pytest.mark.parametrize("target", CLAUDE)
@pytest.mark.parametrize("more", NO_CONTENT)
def test_an_empty_result_that_is_an_error_gets_a_text(more: dict[str, Any], target: str) -> None:
    messages = [*with_result(**more, is_error=True), says("ok"), USER]
    becomes = repaired(messages, target, "anthropic_messages")
    expected = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": CONTINUED}
    assert becomes[2] == says([expected], "user")
    assert repaired(messages[:3], target, "anthropic_messages") == becomes[:3]


def test_a_refused_empty_error_is_filled_by_react() -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}}
    body = {"model": "m", "messages": with_result(content="", is_error=True), "tools": [tool]}
    error = "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true"
    reaction = chatmend.react(body, "other", error)
    assert reaction is not None
    assert reaction.body["messages"][2]["content"][0]["content"] == CONTINUED


@pytest.mark.parametrize("target", OPEN_WEIGHTS)
@pytest.mark.parametrize("role", ["assistant", "system", "user"])
def test_hosts_of_open_weights_accept_empty_messages(target: str, role: str) -> None:
    messages = [USER, says("", role), USER] if role == "assistant" else [says("", role), USER]
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("content", [" ", *NOTHING])
def test_other_models_behind_openrouter_get_their_empty_messages(content: Any) -> None:
    messages = [says(content, "system"), USER, says(content), USER]
    assert chatmend.repair(messages, "openrouter/qwen/qwen3-max").messages is messages


@pytest.mark.parametrize("target", [*AT_MOONSHOT, "hosted_vllm/moonshotai/Kimi-K3"])
def test_a_system_message_that_declares_tools_for_kimi_k3_needs_no_content(target: str) -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    messages = [USER, {"role": "system", "tools": [tool]}]
    assert repaired(messages, target) is messages


def test_a_blank_message_of_kimi_is_unchanged_behind_openrouter() -> None:
    messages = [USER, says(" "), USER]
    assert chatmend.repair(messages, "openrouter/moonshotai/kimi-k3").messages is messages


@pytest.mark.parametrize(
    "block", [{"thinking": "t", "signature": ""}, {"thinking": "", "signature": "s"}]
)
def test_thinking_with_a_text_or_a_signature_is_not_empty(block: dict[str, str]) -> None:
    messages = [USER, says([{"type": "thinking", **block}]), USER]
    done = chatmend.repair(messages, "moonshot/kimi-k3", dialect="anthropic_messages")
    assert done.messages is messages


@pytest.mark.parametrize("target", KIMI)
@pytest.mark.parametrize("content", NOTHING)
def test_an_empty_answer_of_kimi_gets_a_text(target: str, content: Any) -> None:
    assert repaired([USER, says(content), USER], target) == [USER, says(CONTINUED), USER]


@pytest.mark.parametrize("target", KIMI)
def test_an_empty_user_message_to_kimi_is_dropped(target: str) -> None:
    assert repaired([says("", "user"), USER], target) == [USER]


@pytest.mark.parametrize("target", AT_MOONSHOT)
@pytest.mark.parametrize("content", NOTHING)
def test_an_empty_system_message_to_kimi_is_dropped(target: str, content: Any) -> None:
    assert repaired([says(content, "system"), USER], target) == [USER]
    later = [USER, says("a"), USER, says("b"), USER]
    assert repaired([*later[:3], says(content, "system"), *later[3:]], target) == later


def test_a_blank_system_message_to_moonshot_is_dropped() -> None:
    assert repaired([says(" ", "system"), USER], "moonshot/kimi-k3") == [USER]


def test_the_marker_of_an_empty_text_replaces_no_other() -> None:
    kept = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    for marker in ({"type": "ephemeral"}, None):
        empty = {"type": "text", "text": "", "cache_control": marker}
        sent = repaired([says([kept, empty], "user")], "anthropic/claude-sonnet-4-5")
        assert sent == [says([kept], "user")]


@pytest.mark.parametrize("target", KIMI)
def test_empty_thinking_alone_is_an_empty_answer(target: str) -> None:
    messages = [USER, says([{"type": "thinking", "thinking": "", "signature": ""}]), USER]
    assert repaired(messages, target, "anthropic_messages") == [USER, says(CONTINUED), USER]


def test_thinking_that_is_removed_leaves_no_empty_answer() -> None:
    messages = [USER, says([{"type": "thinking", "thinking": "t", "signature": "s"}]), USER]
    sent = repaired(messages, "openrouter/moonshotai/kimi-k3", "anthropic_messages")
    assert sent == [USER, says(CONTINUED), USER]
