"""Thinking behind other content, which Mistral refuses."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect

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
