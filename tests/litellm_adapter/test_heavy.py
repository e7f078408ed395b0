"""Repairs that may take long run outside of the event loop.

The estimate counts calls, parts and text, and is cheap.
"""

from __future__ import annotations

import asyncio
import json
from threading import current_thread, main_thread
from types import SimpleNamespace
from typing import Any

import pytest

from chatmend.litellm import ChatMend
from chatmend.litellm.attempt import MAX_CHARACTERS, MAX_ITEMS, is_heavy
from tests.litellm_adapter.transcripts import chat, contents, messages, responses, valid

USER = {"role": "user", "content": "go"}


def call(number: int, arguments: str = "{}") -> dict[str, Any]:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "f", "arguments": arguments},
    }


def calls(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": None, "tool_calls": list(found)}]


def use(given: Any) -> list[dict[str, Any]]:
    return [
        USER,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": given}],
        },
    ]


LONG = "x" * (MAX_CHARACTERS + 1)
HEAVY: dict[str, list[Any]] = {
    "messages": [USER, {"role": "assistant", "content": "ok"}] * MAX_ITEMS,
    "equal ids in one message": calls(*[call(0)] * 10_000),
    "calls of several messages": calls(*map(call, range(20))) * 20,
    "arguments": calls(call(0, json.dumps({"text": LONG}))),
    "arguments of many calls": calls(
        *[call(at, LONG[: MAX_CHARACTERS // 90]) for at in range(100)]
    ),
    "parts": [{"role": "user", "content": [{"type": "text", "text": "a"}] * (MAX_ITEMS + 1)}],
    "text": [{"role": "user", "content": LONG}],
    "text of a part": [{"role": "user", "content": [{"type": "text", "text": LONG}]}],
    "Anthropic's input": use({"rows": list(range(MAX_ITEMS + 1))}),
    "Anthropic's input, keys": use({f"key {at}": at for at in range(MAX_CHARACTERS)}),
    "Anthropic's result": [
        {"role": "user", "content": [{"type": "tool_result", "content": [{"text": LONG}]}]}
    ],
    "Gemini's parts": [
        {"role": "user", "parts": [{"functionResponse": {"response": {"out": LONG}}}]}
    ],
    "items of the Responses API": [
        {"type": "function_call_output", "call_id": "a", "output": LONG}
    ],
    "an SDK's object": [USER, SimpleNamespace(role="assistant", content=LONG)],
    "a small image": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    ],
    "an image in a result": [
        {
            "role": "user",
            "content": [{"type": "tool_result", "content": [{"type": "image", "source": {}}]}],
        }
    ],
    "Gemini's image": [{"role": "user", "parts": [{"inlineData": {"data": ""}}]}],
    "an image in Gemini's result": [
        {"role": "user", "parts": [{"functionResponse": {"parts": [{"inlineData": {"data": ""}}]}}]}
    ],
}
LIGHT: dict[str, list[Any]] = {
    "chat": valid(20),
    "broken chat": chat(),
    "messages": messages(),
    "items": responses(),
    "contents": contents(),
    "media words as input keys": use(
        {"file": "main.py", "image": None, "document": ["a"], "type": {"x": 1}}
    ),
    "malformed types": [{"role": "user", "content": [{"type": ["image"]}, {"type": 7}, None, 3.5]}],
}


@pytest.mark.parametrize("given", LIGHT.values(), ids=LIGHT)
def test_a_short_request_is_not_heavy(given: list[Any]) -> None:
    assert not is_heavy(given)


@pytest.mark.parametrize("given", HEAVY.values(), ids=HEAVY)
def test_a_heavy_request_is_repaired_in_another_thread(given: list[Any]) -> None:
    threads = []

    class RecordsThreads(ChatMend):
        def repair_call(self, *args: Any) -> Any:
            threads.append(current_thread())
            return super().repair_call(*args)

    kwargs = {"model": "openai/gpt-4o", "messages": given}
    asyncio.run(
        RecordsThreads(on_error="raise").async_pre_call_deployment_hook(kwargs, "acompletion")
    )
    (thread,) = threads
    assert thread is not main_thread()


def test_a_self_referencing_request_is_heavy() -> None:
    circle: list[Any] = []
    circle.append(circle)
    table: dict[str, Any] = {}
    table["table"] = table
    namespace = SimpleNamespace()
    namespace.namespace = namespace
    assert all(map(is_heavy, (circle, [table], [namespace])))


def test_the_estimate_stops_at_its_limits() -> None:
    read = []

    class Counting:
        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                read.append(name)
            return super().__getattribute__(name)

    # Each list is just below the limit, so the estimate exceeds it in the second list and stops.
    assert is_heavy([{"content": [Counting()] * (MAX_ITEMS - 10)} for _ in range(9)])
    assert len(read) <= MAX_ITEMS
