"""What ``repair`` and ``repair_request`` do with the parameters of a request, and ``replay`` with stored changes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import chatmend
from chatmend import Lesson, Policy
from chatmend.dialects import DIALECTS
from chatmend.repair import read_tools_and_thinking

GPT, CLAUDE, BOUND = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-5-1"
USER = {"role": "user", "content": "go"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_changes_that_were_stored_one_by_one_replay_the_same() -> None:
    late = {"role": "tool", "tool_call_id": "call_1", "content": "18"}
    gone = {"role": "tool", "tool_call_id": "gone", "content": "18"}
    messages = [USER, ASKED, USER, gone, late, {"role": "assistant", "content": "Hm."}, gone, USER]
    done = chatmend.repair(messages, GPT)
    assert len([change.window for change in done.changes]) > len(
        {change.window for change in done.changes}
    )
    stored = [replace(change, window=(*(change.window or ()),)) for change in done.changes]
    assert chatmend.replay(messages, stored) == done.messages


def test_a_text_as_input_stays_whatever_object_names_the_dialect() -> None:
    body = {"model": "gpt-4o", "input": "Hello"}
    dialect = json.loads('"openai_responses"')  # not interned, as in a configuration
    assert chatmend.repair_request(body, GPT, dialect=dialect).body is body
    with pytest.raises(chatmend.TranscriptError, match="must be a dict with a list under"):
        chatmend.repair_request({"messages": "Hello"}, GPT, dialect="openai_chat")


def test_of_several_thinking_parameters_one_that_enables_counts_else_the_first() -> None:
    traits = DIALECTS["openai_chat"].TRAITS
    off, low = {"type": "disabled"}, "low"
    body: dict[str, Any] = {"thinking": off, "reasoning_effort": "none"}
    assert read_tools_and_thinking(body, traits) == ([], off)
    assert read_tools_and_thinking(body | {"reasoning_effort": low}, traits) == ([], low)
    assert read_tools_and_thinking({}, traits) == ([], None)


def test_a_lesson_counts_although_the_transcript_is_known_to_be_clean() -> None:
    body = {"messages": [{**USER, "name": "Bob"}, {"role": "assistant", "content": "Yes."}, USER]}
    for _ in range(3):
        assert chatmend.repair_request(body, GPT).body is body
    lesson = Lesson(GPT, "refused_keys", ("name",))
    done = chatmend.repair(body["messages"], GPT, lessons=[lesson])
    assert "name" not in done.messages[0]
    assert chatmend.repair(body["messages"], GPT, lessons=[]).messages is body["messages"]


def test_a_body_with_a_block_binding_of_the_caller_is_returned_unchanged() -> None:
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    body = {"messages": [USER], "max_tokens": 9, "thinking": {"type": "adaptive", **binding}}
    for target in (CLAUDE, BOUND):
        assert chatmend.repair_request(body, target, dialect="anthropic_messages").body is body


def test_tools_of_a_transcript_that_begins_with_signed_thinking_invalidate_it() -> None:
    thought = {
        "type": "thinking",
        "thinking": "Hm.",
        "signature": "EqQBCkYIARgCKkA" + "b" * 160 + "==",
    }
    messages = [
        {
            "role": "assistant",
            "content": [thought, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "18"}],
        },
    ]
    done = chatmend.repair(messages, CLAUDE, tools=[], dialect="anthropic_messages")
    found = {change.rule: change for change in done.changes}
    assert found["undeclared-tools"].invalidates_thinking


LOOP = [
    USER,
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "18"}],
    },
]
CLEARING = {"type": "clear_thinking_20251015"}


def test_a_body_whose_tool_loop_lost_its_thinking_is_sent_with_thinking_disabled() -> None:
    edits = {"edits": [CLEARING, {"type": "clear_tool_uses_20250919"}]}
    body = {
        "messages": LOOP,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "context_management": edits,
        "max_tokens": 4000,
    }
    done = chatmend.repair_request(body, CLAUDE, dialect="anthropic_messages")
    assert done.body == {
        **body,
        "thinking": {"type": "disabled"},
        "context_management": {"edits": edits["edits"][1:]},
    }
    only = {**body, "context_management": {"edits": [CLEARING]}}
    done = chatmend.repair_request(only, CLAUDE, dialect="anthropic_messages")
    assert "context_management" not in done.body
    assert [change.where for change in done.changes][-1] == "context_management"


@pytest.mark.parametrize(
    ("parameter", "left"),
    [
        ({"reasoning_effort": "low"}, {}),
        ({"extra_body": {"reasoning": "low", "x": 1}}, {"extra_body": {"x": 1}}),
        ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}),
        ({"thinking": {"type": "disabled"}, "reasoning_effort": "low"}, {"thinking": {"type": "disabled"}}),
    ],
)  # fmt: skip
def test_every_parameter_that_enables_thinking_is_changed(
    parameter: dict[str, Any], left: dict[str, Any]
) -> None:
    body = {"messages": [USER, ASKED, {"role": "tool", "tool_call_id": "call_1", "content": "18"}]}
    body |= {"tools": [{"type": "function", "function": {"name": "f"}}]}  # type: ignore[dict-item]
    done = chatmend.repair_request({**body, **parameter}, CLAUDE, dialect="openai_chat")
    assert done.body == {**body, **left}


@pytest.mark.parametrize("policy", ["offline", "train", Policy(late_results="move")])
def test_a_late_result_moves_to_its_call_if_the_policy_says_so(policy: Any) -> None:
    said = {"role": "assistant", "content": "I wait."}
    late = {"role": "tool", "tool_call_id": "call_1", "content": "18"}
    done = chatmend.repair([USER, ASKED, USER, said, late, USER], GPT, policy=policy)
    assert done.messages[:3] == [USER, ASKED, late]
    assert done.messages[3:5] == [USER, said]


def test_where_ids_are_optional_a_call_without_one_stays_and_a_long_one_is_shortened() -> None:
    gemini = "gemini/gemini-2.5-flash"

    def exchange(**identity: str) -> list[Any]:
        answer = {"name": "f", "response": {"output": "18"}, **identity}
        return [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, **identity}}]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]

    user = {"role": "user", "parts": [{"text": "go"}]}
    messages = [user, *exchange(), *exchange(id="c" * 40), *exchange(id="c1")]
    lesson = Lesson(gemini, "max_call_id_length", 20)
    done = chatmend.repair(messages, gemini, dialect="gemini_contents", lessons=[lesson]).messages
    assert (done[:3], done[5:]) == (messages[:3], messages[5:])
    new = done[3]["parts"][0]["functionCall"]["id"]
    assert len(new) <= 20
    assert done[3:5] == exchange(id=new)


def continued_thread(model: str, *messages: Any, **more: Any) -> dict[str, Any]:
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    return {"model": model, "max_tokens": 9, "thread": thread, "messages": list(messages), **more}


THREAD_RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "total 736"}],
}
THREAD_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}}],
}
THREAD_ANSWER = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "done"}],
}


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-4-5"])
def test_a_continued_thread_may_answer_calls_that_the_server_holds(model: str) -> None:
    for messages in ([THREAD_RESULT], [THREAD_RESULT, THREAD_CALL, THREAD_ANSWER]):
        body = continued_thread(model, *messages)
        assert chatmend.repair_request(body, f"anthropic/{model}").body is body


def test_a_continued_thread_may_refer_to_tools_of_earlier_requests() -> None:
    reference = {"type": "tool_reference", "tool_name": "f"}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [reference]}
    body = continued_thread("claude-opus-5", {"role": "user", "content": [result]})
    assert chatmend.repair_request(body, "anthropic/claude-opus-5").body is body


@pytest.mark.parametrize("thread", [{"type": "create"}, None, "continue"])
def test_a_thread_that_is_created_holds_no_earlier_calls(thread: object) -> None:
    body = continued_thread("claude-opus-5", THREAD_RESULT) | {"thread": thread}
    done = chatmend.repair_request(body, "anthropic/claude-opus-5")
    assert [change.code for change in done.changes] == ["TOOL005"]
    assert "tools" not in done.body


def test_a_repair_of_a_continued_thread_declares_no_tools() -> None:
    body = continued_thread("claude-opus-5", THREAD_RESULT, {"role": "user", "content": ""})
    done = chatmend.repair_request(body, "anthropic/claude-opus-5")
    assert done.body == continued_thread("claude-opus-5", THREAD_RESULT)
