"""Thinking behind other content, which Mistral refuses."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.rules import RULES, late_thinking, leading_assistant

TARGET = "mistral/magistral-medium-latest"
USER, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "on"}


def thought(text: str = "hm") -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def conversation(*parts: Any) -> list[Any]:
    return [USER, {"role": "assistant", "content": list(parts)}, NEXT]


@pytest.mark.parametrize(
    "parts",
    [
        (thought(), said("a")),
        (thought(), thought("two"), said("a")),
        (thought(), said(""), said("a")),
        (said(""), said("a")),
    ],
)
def test_leading_thinking_is_unchanged(parts: tuple[Any, ...]) -> None:
    messages = conversation(*parts)
    assert chatmend.repair(messages, TARGET).messages is messages


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ((said(""), thought(), said("a")), (thought(), said("a"))),
        ((said("a"), thought(), said("b")), (thought(), said("a"), said("b"))),
        (
            (thought("one"), said("a"), thought("two"), said("b")),
            (thought("one"), thought("two"), said("a"), said("b")),
        ),
    ],
)
def test_late_thinking_moves_to_the_beginning(given: Any, sent: Any) -> None:
    done = chatmend.repair(conversation(*given), TARGET)
    assert done.messages == conversation(*sent)
    assert [(one.code, one.effect) for one in done.changes] == [("THINK009", Effect.RESHAPES)]
    assert chatmend.repair(done.messages, TARGET).messages is done.messages


def test_thinking_moves_in_an_answer_that_gets_a_user_message_before_it() -> None:
    answer, leading = (
        {"role": "assistant", "content": parts}
        for parts in ([said("a"), thought()], [thought(), said("a")])
    )
    done = chatmend.repair([answer, NEXT], TARGET)
    assert done.messages[1:] == [leading, NEXT]
    assert [one.code for one in done.changes] == ["TURN003", "THINK009"]
    assert chatmend.repair(done.messages, TARGET).messages is done.messages


def test_the_thinking_of_merged_answers_stands_first() -> None:
    calls = [
        {"id": f"call0000{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for n in (1, 2)
    ]
    split = [
        {"role": "assistant", "content": [thought("one"), said("a")], "tool_calls": calls[:1]},
        {"role": "assistant", "content": [thought("two"), said("b")], "tool_calls": calls[1:]},
    ]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "name": "f", "content": "r"} for call in calls
    ]
    done = chatmend.repair([USER, *split, *results], TARGET)
    assert done.messages[1] == {
        "role": "assistant",
        "content": [thought("one"), thought("two"), said("a"), said("b")],
        "tool_calls": calls,
    }
    assert chatmend.repair(done.messages, TARGET).messages is done.messages


@pytest.mark.parametrize("target", ["openai_compatible/any", "hosted_vllm/Qwen/Qwen3-8B"])
def test_other_servers_get_the_order_of_the_caller(target: str) -> None:
    done = chatmend.repair(conversation(said("a"), thought(), said("b")), target)
    assert "THINK009" not in {change.code for change in done.changes}


CLAUDE = "anthropic/claude-sonnet-4-5"
MANUAL = {"type": "enabled", "budget_tokens": 1024}
REFUSAL = (
    "messages.1.content.0: If an assistant message contains any thinking blocks, the first block "
    "must be `thinking` or `redacted_thinking`. Found `text`."
)
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "EqQB" + "A" * 200}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}],
}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


def claude(messages: list[Any], thinking: Any = MANUAL) -> dict[str, Any]:
    return {"max_tokens": 4096, "thinking": thinking, "tools": TOOLS, "messages": messages}


def test_claude_may_think_after_a_text_until_it_refuses() -> None:
    body = claude(conversation(said("a"), SIGNED, said("b")))
    assert chatmend.repair_request(body, CLAUDE).body is body
    again = chatmend.react(body, CLAUDE, REFUSAL)
    assert again is not None
    assert again.lesson is not None
    assert again.lesson.limit == "thinking_begins"
    assert again.body["messages"][1]["content"] == [SIGNED, said("a"), said("b")]


def test_only_the_first_thinking_of_claude_moves() -> None:
    later = {**SIGNED, "thinking": "later"}
    body = claude(conversation(said("a"), SIGNED, said("b"), later, said("c")))
    again = chatmend.react(body, CLAUDE, REFUSAL)
    assert again is not None
    sent = again.body["messages"][1]["content"]
    assert sent == [SIGNED, said("a"), said("b"), later, said("c")]


def test_adaptive_thinking_may_begin_with_a_text() -> None:
    answer = {"role": "assistant", "content": [said("a"), SIGNED, CALL]}
    body = claude([USER, answer, RESULT], {"type": "adaptive"})
    assert chatmend.repair_request(body, "anthropic/claude-sonnet-4-6").body is body


def test_reasoning_of_converse_moves_too() -> None:
    thought = {
        "reasoningContent": {"reasoningText": {"text": "hm", "signature": "EqQB" + "A" * 200}}
    }
    blocks = [{"text": "a"}, thought, {"text": "b"}]
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [{"text": "on"}]},
        ],
    }
    error = REFUSAL.replace("`thinking` or `redacted_thinking`", "thinking")
    again = chatmend.react(body, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", error)
    assert again is not None
    assert again.body["messages"][1]["content"] == [thought, {"text": "a"}, {"text": "b"}]


def test_rules_after_an_added_user_message_look_at_all_answers() -> None:
    later = RULES[RULES.index(leading_assistant.RULE) + 1 :]
    assert late_thinking.RULE in later
    assert [rule.name for rule in later if "run_length" in inspect.getsource(rule.find)] == []
