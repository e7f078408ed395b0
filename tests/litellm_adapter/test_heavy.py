"""What may take long is repaired off the event loop: the estimate counts calls, parts and text, and is cheap itself."""

from __future__ import annotations

import asyncio
import json
from threading import current_thread, main_thread
from types import SimpleNamespace
from typing import Any

import pytest

from chatmend.litellm import ChatMend
from chatmend.litellm.attempt import MANY, MUCH, is_heavy
from tests.litellm_adapter.transcripts import chat, contents, messages, responses, valid

USER = {"role": "user", "content": "go"}


def call(number: int, arguments: str = "{}") -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": arguments}}


def calls(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": None, "tool_calls": list(found)}]


def use(given: Any) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": given}]}]


LONG = "x" * (MUCH + 1)
HEAVY: dict[str, list[Any]] = {
    "messages": [USER, {"role": "assistant", "content": "ok"}] * MANY,
    "equal ids in one message": calls(*[call(0)] * 10_000),
    "calls of several messages": calls(*map(call, range(20))) * 20,
    "arguments": calls(call(0, json.dumps({"text": LONG}))),
    "arguments of many calls": calls(*[call(at, LONG[: MUCH // 90]) for at in range(100)]),
    "parts": [{"role": "user", "content": [{"type": "text", "text": "a"}] * (MANY + 1)}],
    "text": [{"role": "user", "content": LONG}],
    "text of a part": [{"role": "user", "content": [{"type": "text", "text": LONG}]}],
    "Anthropic's input": use({"rows": list(range(MANY + 1))}),
    "Anthropic's input, keys": use({f"key {at}": at for at in range(MUCH)}),
    "Anthropic's result": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": LONG}]}]}],
    "Gemini's parts": [{"role": "user", "parts": [{"functionResponse": {"response": {"out": LONG}}}]}],
    "items of the Responses API": [{"type": "function_call_output", "call_id": "a", "output": LONG}],
    "an SDK's object": [USER, SimpleNamespace(role="assistant", content=LONG)],
    "a small image": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}],
    "an image in a result": [
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "image", "source": {}}]}]}
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
    "a file that is named": use({"file": "main.py", "image": None, "document": ["a"], "type": {"x": 1}}),
    "types that are none": [{"role": "user", "content": [{"type": ["image"]}, {"type": 7}, None, 3.5]}],
}


@pytest.mark.parametrize("given", LIGHT.values(), ids=LIGHT)
def test_a_short_request_is_repaired_where_it_is(given: list[Any]) -> None:
    assert not is_heavy(given)


@pytest.mark.parametrize("given", HEAVY.values(), ids=HEAVY)
def test_a_request_with_much_in_it_leaves_the_event_loop(given: list[Any]) -> None:
    threads = []

    class Watched(ChatMend):
        def mend(self, *args: Any) -> Any:
            threads.append(current_thread())
            return super().mend(*args)

    kwargs = {"model": "openai/gpt-4o", "messages": given}
    asyncio.run(Watched(on_error="raise").async_pre_call_deployment_hook(kwargs, "acompletion"))
    (thread,) = threads
    assert thread is not main_thread()


def test_a_request_without_end_is_heavy() -> None:
    circle: list[Any] = []
    circle.append(circle)
    table: dict[str, Any] = {}
    table["table"] = table
    held = SimpleNamespace()
    held.held = held
    assert all(map(is_heavy, (circle, [table], [held])))


def test_the_estimate_ends_at_its_limits() -> None:
    read = []

    class Counting:
        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                read.append(name)
            return super().__getattribute__(name)

    # Each dict holds a list that is just short enough: after two of them the estimate knows enough.
    assert is_heavy([{"content": [Counting()] * (MANY - 10)} for _ in range(9)])
    assert len(read) <= MANY
