"""Short conversations of every kind of message in every order, for every target."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.promises import broken_promises
from tests.scale import examples
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ("user", "system", "answer", "empty", "thinking", "call", "result")
SIGNATURE = "EqQBCkYIAhgCKkAx"
Native = dict[str, Any]


def _chat(kind: str, number: int, call: str) -> Native:
    calls = [{"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    return {
        "user": {"role": "user", "content": f"question {number}"},
        "system": {"role": "system", "content": f"rule {number}"},
        "answer": {"role": "assistant", "content": f"answer {number}"},
        "empty": {"role": "assistant", "content": ""},
        "thinking": {"role": "assistant", "content": "x", "reasoning_content": f"thought {number}"},
        "call": {"role": "assistant", "content": None, "tool_calls": calls},
        "result": {"role": "tool", "tool_call_id": call, "content": f"result {number}"},
    }[kind]


def _messages(kind: str, number: int, call: str) -> Native:
    thinking = {"type": "thinking", "thinking": f"thought {number}", "signature": SIGNATURE}
    result = {"type": "tool_result", "tool_use_id": call, "content": f"result {number}"}
    return {
        "user": {"role": "user", "content": f"question {number}"},
        "system": {"role": "system", "content": f"rule {number}"},
        "answer": {"role": "assistant", "content": f"answer {number}"},
        "empty": {"role": "assistant", "content": []},
        "thinking": {"role": "assistant", "content": [thinking]},
        "call": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": call, "name": "f", "input": {}}],
        },
        "result": {"role": "user", "content": [result]},
    }[kind]


def _items(kind: str, number: int, call: str) -> Native:
    text = {"type": "output_text", "text": f"answer {number}", "annotations": []}
    return {
        "user": {"role": "user", "content": f"question {number}"},
        "system": {"role": "system", "content": f"rule {number}"},
        "answer": {
            "type": "message",
            "id": f"msg_{number:032}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        },
        "empty": {"role": "assistant", "content": ""},
        "thinking": {
            "type": "reasoning",
            "id": f"rs_{number:032}",
            "summary": [],
            "encrypted_content": "gAAAAABo",
        },
        "call": {
            "type": "function_call",
            "id": f"fc_{number:032}",
            "call_id": call,
            "name": "f",
            "arguments": "{}",
        },
        "result": {"type": "function_call_output", "call_id": call, "output": f"result {number}"},
    }[kind]


def _contents(kind: str, number: int, call: str) -> Native:
    response = {"name": call, "response": {"output": f"result {number}"}}
    called = {"functionCall": {"name": call, "args": {}}, "thoughtSignature": SIGNATURE}
    parts: dict[str, list[Native]] = {
        "user": [{"text": f"question {number}"}],
        "system": [{"text": f"rule {number}"}],
        "answer": [{"text": f"answer {number}"}],
        "empty": [],
        "thinking": [{"text": f"thought {number}", "thought": True}],
        "call": [called],
        "result": [{"functionResponse": response}],
    }
    role = "user" if kind in ("user", "system", "result") else "model"
    return {"role": role, "parts": parts[kind]}


WRITERS: dict[str, Callable[[str, int, str], Native]] = {
    "openai_chat": _chat,
    "anthropic_messages": _messages,
    "openai_responses": _items,
    "gemini_contents": _contents,
}
PLACES = [place for place in ALL if place[0] in WRITERS and place[1] != "other"]


def conversation(kinds: tuple[str, ...], dialect: str) -> list[Native]:
    """Return messages of these kinds; a result belongs to the first call without one, if any."""
    waiting: list[str] = []
    messages = []
    for number, kind in enumerate(kinds):
        call = f"call{number:05}"
        if kind == "call":
            waiting.append(call)
        elif kind == "result" and waiting:
            call = waiting.pop(0)
        messages.append(WRITERS[dialect](kind, number, call))
    return messages


@pytest.mark.parametrize(("dialect", "target"), PLACES)
def test_every_promise_holds_for_every_order(dialect: str, target: str) -> None:
    longest = examples(2, 4)
    orders = [kinds for size in range(1, longest + 1) for kinds in product(KINDS, repeat=size)]
    faults = [
        (kinds, fault)
        for kinds in orders
        for fault in broken_promises(conversation(kinds, dialect), target, dialect)
    ]
    assert faults == []
