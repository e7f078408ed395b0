"""OpenAI Chat and Anthropic Messages, part by part: what is common, what is read, what is written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS
from chatmend.rule_cache import RuleCache
from chatmend.rules import RULES
from chatmend.sketch import Sketch
from chatmend.transcript import Role, ToolCall, ToolResult

if TYPE_CHECKING:
    from chatmend.transcript import Message

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o"
OPENAI, ANTHROPIC = DIALECTS["openai_chat"], DIALECTS["anthropic_messages"]
FUNCTION = {"name": "f", "arguments": "{}"}
CALL = {"id": "call_1", "type": "function", "function": FUNCTION}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "18"}
TEXT = {"type": "text", "text": "Yes."}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
USE_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCkYIARgCKkA" + "b" * 160 + "=="}


def calls(*natives: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(natives), **more}


def form_of(dialect: str, message: Any) -> object:
    """Return the form of a message that was parsed from JSON, so that no string is interned."""
    spoken: Any = DIALECTS[dialect]
    limits = chatmend.resolve(CLAUDE if dialect == "anthropic_messages" else GPT).limits_in(dialect)
    sketch = Sketch(RuleCache(spoken.TRAITS, limits, RULES).sketches)
    return spoken.sketch(json.loads(json.dumps(message)), sketch)


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("openai_chat", {"role": "user", "content": "go"}),
        ("openai_chat", {"role": "user", "content": [TEXT, TEXT]}),
        ("openai_chat", {"role": "user", "content": []}),
        ("openai_chat", RESULT),
        ("openai_chat", calls(CALL)),
        ("openai_chat", calls(CALL, CALL)),
        ("openai_chat", calls(CALL) | {"content": []}),
        ("anthropic_messages", {"role": "user", "content": [TEXT]}),
        ("anthropic_messages", {"role": "assistant", "content": [THOUGHT, TEXT, USE]}),
        ("anthropic_messages", {"role": "user", "content": [USE_RESULT, TEXT]}),
    ],
)
def test_common_messages_are_recognised_without_a_walk(
    dialect: str, message: dict[str, Any]
) -> None:
    assert form_of(dialect, message) is not None


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("openai_chat", {"role": "user", "content": [TEXT], "name": "Bob"}),
        ("openai_chat", {"role": 1, "content": "go"}),
        ("openai_chat", {"role": "user", "content": 1}),
        ("openai_chat", {**RESULT, "role": "assistant"}),
        ("openai_chat", {**RESULT, "tool_call_id": 1}),
        ("openai_chat", {"role": "tool", "name": "f", "content": "18"}),
        ("openai_chat", calls(CALL) | {"role": "user"}),
        ("openai_chat", calls(CALL) | {"content": 1}),
        ("openai_chat", calls() | {"tool_calls": {}}),
        ("openai_chat", calls({**CALL, "type": "a_function"})),
        ("openai_chat", calls({**CALL, "type": "tool"})),
        ("openai_chat", calls({**CALL, "index": 0})),
        ("openai_chat", calls({**CALL, "id": None})),
        ("openai_chat", calls({**CALL, "function": {**FUNCTION, "strict": True}})),
        ("openai_chat", calls({**CALL, "function": {"name": "f"}})),
        ("openai_chat", calls({**CALL, "function": {**FUNCTION, "name": None}})),
        ("openai_chat", calls("f")),
        ("anthropic_messages", {"role": "user", "content": "go"}),
        ("anthropic_messages", {"role": "user", "content": [TEXT], "name": "Bob"}),
        ("anthropic_messages", {"role": None, "content": [TEXT]}),
        ("anthropic_messages", {"role": "user", "content": ["go"]}),
        ("anthropic_messages", {"role": "user", "content": [{**TEXT, "citations": []}]}),
        ("anthropic_messages", {"role": "user", "content": [{**USE_RESULT, "is_error": True}]}),
        ("anthropic_messages", {"role": "assistant", "content": [{**USE, "input": "{}"}]}),
        ("anthropic_messages", {"role": "assistant", "content": [{**THOUGHT, "thinking": 1}]}),
        ("anthropic_messages", {"role": "user", "content": [{"type": "x", "thinking": "Hm.", "signature": "b"}]}),
        ("anthropic_messages", {"role": "user", "content": [{"type": "image", "source": {}}]}),
    ],
)  # fmt: skip
def test_other_messages_are_walked(dialect: str, message: Any) -> None:
    assert form_of(dialect, message) is None


def write_with(dialect: Any, message: Message, change: Any) -> Any:
    """Write a message in which ``change`` has replaced every call and result."""
    parts = [
        change(part) if isinstance(part, ToolCall | ToolResult) else part for part in message.parts
    ]
    return dialect.write(message.with_parts(tuple(parts)))


def test_a_renamed_call_keeps_its_other_keys_and_the_other_call_is_the_same_object() -> None:
    first, second = {**CALL, "index": 0}, {**CALL, "id": "call_2", "index": 1}
    message = OPENAI.read(calls(first, second, refusal=None))
    written = write_with(
        OPENAI, message, lambda call: replace(call, id="new") if call.id == "call_2" else call
    )
    assert written == calls(first, {**second, "id": "new"}, refusal=None)
    assert written["tool_calls"][0] is first


@pytest.mark.parametrize("new", ["a", "z"])
def test_a_renamed_custom_call_keeps_its_input(new: str) -> None:
    custom = {"id": "m", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    message = OPENAI.read(calls(custom))
    assert write_with(OPENAI, message, lambda call: replace(call, id=new)) == calls(
        {**custom, "id": new}
    )
    untouched, same = calls(custom, CALL), calls({**custom}, {**CALL, "id": new})
    written = write_with(
        OPENAI, OPENAI.read(untouched), lambda c: c if c.id == "m" else replace(c, id=new)
    )
    assert written == same
    assert written["tool_calls"][0] is custom


def test_a_call_in_an_unknown_form_is_written_as_a_function() -> None:
    message = OPENAI.read(calls({"id": "a", "name": "f", "arguments": "{}"}))
    written = write_with(OPENAI, message, lambda call: replace(call, name="f", arguments="{}"))
    assert written["tool_calls"] == [{**CALL, "id": "a"}]


def test_a_removed_thought_signature_leaves_the_other_fields() -> None:
    fields = {
        "provider_specific_fields": {"thought_signature": "sig", "caller": "a"},
        "extra_content": {"google": {"thought_signature": "sig", "more": 1}, "other": 2},
    }
    message = OPENAI.read(calls({**CALL, **fields}))
    assert message.calls[0].signature == "sig"
    (left,) = write_with(OPENAI, message, lambda call: replace(call, signature=None))["tool_calls"]
    assert left == {
        **CALL,
        "provider_specific_fields": {"caller": "a"},
        "extra_content": {"google": {"more": 1}, "other": 2},
    }


def test_a_removed_thought_signature_leaves_no_empty_fields() -> None:
    for fields in (
        {"provider_specific_fields": {"thought_signature": "sig"}},
        {"extra_content": {"google": {"thought_signature": "sig"}}},
    ):
        message = OPENAI.read(calls({**CALL, **fields}))
        written = write_with(OPENAI, message, lambda call: replace(call, signature=None))
        assert written == calls(CALL)


def test_a_new_thought_signature_is_written_where_litellm_reads_it() -> None:
    message = OPENAI.read(calls({**CALL, "provider_specific_fields": {"caller": "a"}}))
    (call,) = write_with(OPENAI, message, lambda call: replace(call, signature="sig"))["tool_calls"]
    assert call["provider_specific_fields"] == {"caller": "a", "thought_signature": "sig"}
    assert call["function"] == FUNCTION


def test_thinking_stays_under_its_key_when_other_parts_change() -> None:
    for fields in (
        {"thinking_blocks": [THOUGHT], "reasoning_content": "Hm."},
        {"thinking_blocks": "Hm."},
        {"thinking_blocks": [THOUGHT, 1]},
        {"reasoning_content": "Hm."},
        {"reasoning_content": None},
    ):
        native = calls(CALL, **json.loads(json.dumps(fields)))
        written = write_with(OPENAI, OPENAI.read(native), lambda call: replace(call, id="new"))
        assert written == native | {"tool_calls": [{**CALL, "id": "new"}]}


def test_a_renamed_legacy_call_is_written_under_its_key() -> None:
    legacy = {"name": "f", "arguments": "{}", "more": 1}
    message = OPENAI.read({"role": "assistant", "content": None, "function_call": legacy})
    (call,) = message.calls
    assert call.legacy
    written: Any = OPENAI.write(message.with_parts((replace(call, name="g"),)))
    assert written == {**message.kept_keys, "function_call": {**legacy, "name": "g"}}
    assert "function_call" not in OPENAI.write(message.with_parts(()))
    malformed: Any = {**message.kept_keys, "function_call": "f"}
    assert OPENAI.write(OPENAI.read(malformed).with_parts(())) == malformed


@pytest.mark.parametrize(
    ("blocks", "role"),
    [
        ([USE_RESULT], Role.USER),
        ([USE_RESULT, TEXT], Role.USER),
        ([USE_RESULT, {"type": "a"}, 1], Role.USER),
        ([USE_RESULT, USE], Role.ASSISTANT),
        ([TEXT, USE_RESULT], Role.ASSISTANT),
        ([], Role.ASSISTANT),
        ("tool_result", Role.ASSISTANT),
    ],
)
def test_a_message_that_begins_with_a_result_and_has_no_calls_is_the_users(
    blocks: Any, role: Role
) -> None:
    assert ANTHROPIC.read({"role": "assistant", "content": blocks}).role is role


def test_a_renamed_result_block_keeps_its_other_keys() -> None:
    block = {**USE_RESULT, "is_error": True, "cache_control": {"type": "ephemeral"}}
    other = {**USE_RESULT, "tool_use_id": "toolu_2"}
    message = ANTHROPIC.read({"role": "user", "content": [block, other, TEXT]})
    written = write_with(
        ANTHROPIC,
        message,
        lambda part: replace(part, call_id="new") if part.call_id == "toolu_1" else part,
    )
    assert written["content"] == [{**block, "tool_use_id": "new"}, other, TEXT]
    assert written["content"][1] is other


@pytest.mark.parametrize("change", [{"id": "new"}, {"name": "g"}, {"arguments": {"a": 1}}])
def test_a_changed_call_block_keeps_its_other_keys(change: dict[str, Any]) -> None:
    block = {**USE, "cache_control": {"type": "ephemeral"}}
    other = {**USE, "id": "toolu_2"}
    message = ANTHROPIC.read({"role": "assistant", "content": [block, other]})
    written = write_with(
        ANTHROPIC, message, lambda part: replace(part, **change) if part.id == "toolu_1" else part
    )
    key = {"arguments": "input"}
    expected = {key.get(name, name): value for name, value in change.items()}
    assert written["content"] == [{**block, **expected}, other]
    assert written["content"][1] is other


def test_a_call_is_answered_if_its_result_is_in_the_same_message() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    native = calls(
        {**CALL, "id": "srvtoolu_1"},
        CALL,
        {**CALL, "id": ["srvtoolu_1"]},
        provider_specific_fields={"web_search_results": [found]},
    )
    assert [call.kind for call in OPENAI.read(native).calls] == ["answered", "function", "function"]
    assert [call.kind for call in OPENAI.read(calls(CALL)).calls] == ["function"]


def test_a_call_without_a_type_is_a_function() -> None:
    untyped = {key: value for key, value in CALL.items() if key != "type"}
    user = {"role": "user", "content": "go"}
    done = chatmend.repair([user, calls(untyped), RESULT, user], GPT, dialect="openai_chat")
    assert done.messages == [user, calls(CALL), RESULT, user]
