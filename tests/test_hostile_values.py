"""Objects whose own methods raise, and containers that hold themselves, cost no exception."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chatmend
from chatmend import jsontext
from tests.every_rule import forget
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = [
    "__repr__",
    "__eq__",
    "__getattr__",
    "__hash__",
    "__iter__",
    "__len__",
    "__str__",
    "__bool__",
    "__getattribute__",
    "__contains__",
    "__getitem__",
    "__format__",
    "__deepcopy__",
    "__reduce_ex__",
]
PROPERTIES = ("model_dump", "role", "content", "type", "dict", "text", "parts", "__dict__")


class HostileError(RuntimeError):
    """Raised by the objects of this file."""


def refuse(*_: object, **__: object) -> Any:
    raise HostileError


def made(base: type, methods: list[str]) -> type:
    return type("Hostile", (base,), dict.fromkeys(methods, refuse))


def cyclic_dict() -> dict[str, Any]:
    value: dict[str, Any] = {"role": "user", "type": "text"}
    value["content"] = value["text"] = value
    return value


def cyclic_list() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> Any:
    value: Any = []
    for _ in range(5_000):
        value = [value]
    return value


OBJECTS: dict[str, Callable[[], Any]] = {
    **{name: made(object, [name]) for name in METHODS},
    "all": made(object, [name for name in METHODS if name != "__getattribute__"]),
    "properties": type("Hostile", (), dict.fromkeys(PROPERTIES, property(refuse))),
    "class": type("Hostile", (), {"__class__": property(refuse)}),
    "dict": lambda: made(dict, ["get", "items", "keys", "values", "__iter__", "__getitem__", "__eq__"])(role="user"),
    "list": lambda: made(list, ["__iter__", "__getitem__", "__len__", "__eq__"])(["a"]),
    "text": lambda: made(str, ["__eq__", "__hash__", "strip", "lower", "encode"])("user"),
    "cyclic dict": cyclic_dict,
    "cyclic list": cyclic_list,
    "deep": deep,
}  # fmt: skip
USER = {"role": "user", "content": "a"}


def calling(**changes: Any) -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [{**call, **changes}]}
    return [USER, message]


def said(*parts: Any, role: str = "user") -> list[Any]:
    return [USER, {"role": role, "content": [*parts]}]


PLACES: dict[str, Callable[[Any], list[Any]]] = {
    "message": lambda value: [USER, value, USER],
    "role": lambda value: [{"role": value, "content": "x"}, USER],
    "content": lambda value: [{"role": "user", "content": value}],
    "other key": lambda value: [{**USER, "content": "", "x": value}],
    "part": lambda value: said(value, {"type": "text", "text": "a"}),
    "text": lambda value: said({"type": "text", "text": value}),
    "marker": lambda value: said({"type": "text", "text": "a", "cache_control": value}),
    "image": lambda value: said({"type": "image", "source": value}),
    "thinking": lambda value: said({"type": "thinking", "thinking": "a", "signature": value}, role="assistant"),
    "result": lambda value: said({"type": "tool_result", "tool_use_id": "t", "content": value}),
    "input": lambda value: said({"type": "tool_use", "id": "t", "name": "f", "input": value}, role="assistant"),
    "calls": lambda value: [USER, {"role": "assistant", "content": None, "tool_calls": value}],
    "call id": lambda value: [*calling(id=value), {"role": "tool", "tool_call_id": value, "content": "1"}],
    "function": lambda value: calling(function=value),
    "arguments": lambda value: calling(function={"name": "f", "arguments": value}),
    "name": lambda value: calling(function={"name": value, "arguments": "{}"}),
    "Gemini part": lambda value: [{"role": "user", "parts": [value]}],
    "Responses id": lambda value: [{"type": "function_call", "call_id": value, "name": "f", "arguments": "{}"}],
}  # fmt: skip
TARGETS = ["anthropic/claude-sonnet-4-6", "openai/gpt-4o", "gemini/gemini-2.5-pro", "strict", "a/b"]


@settings(max_examples=examples(60, 4_000))
@given(st.sampled_from([*OBJECTS]), st.sampled_from([*PLACES]), st.sampled_from(TARGETS))
def test_no_object_in_a_message_costs_an_exception(kind: str, place: str, target: str) -> None:
    messages = PLACES[place](OBJECTS[kind]())
    done = chatmend.repair(messages, target)
    assert done.changes or done.messages is messages
    assert len(chatmend.replay(messages, done.changes)) == len(done.messages)
    assert len(chatmend.check(messages, target)) == len(done.changes)
    chatmend.repair_request({"model": "m", "messages": messages}, target)
    chatmend.repair(messages=messages, target=target)
    done.report()
    json.loads(done.to_json())
    done._repr_html_()


@pytest.mark.parametrize("make", [lambda text, held: [text, held], lambda text, held: {text: held}])
def test_the_text_of_a_container_that_holds_itself_needs_little_memory(make: Any) -> None:
    text, inner = "x" * 100_000, list[Any]()
    inner.append(make(text, inner))
    tracemalloc.start()
    try:
        found = jsontext.dumps(inner)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text in found
    assert peak < 20 * len(text)  # a copy for each level of recursion would be a thousand


def test_the_object_itself_is_in_the_result() -> None:
    value = OBJECTS["all"]()
    empty = {"type": "text", "text": ""}
    messages = said(empty, {"type": "text", "text": "a", "x": [value]})
    done = chatmend.repair(messages, TARGETS[0])
    parts = done.messages[1]["content"]
    assert [change.code for change in done.changes] == ["TEXT004"]
    assert [part["x"][0] is value for part in parts] == [True]


@pytest.mark.parametrize("kind", ["all", "cyclic dict"])
def test_a_conversation_without_a_defect_stays_the_same_object(kind: str) -> None:
    messages = [{**USER, "x": OBJECTS[kind]()}]
    assert chatmend.repair(messages, "other").messages is messages


def test_an_error_that_no_object_caused_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()  # a transcript whose structure is known to be clean needs no run
    monkeypatch.setattr("chatmend.engine.Run.start", refuse)
    with pytest.raises(HostileError):
        chatmend.repair([USER], "openai/gpt-4o")


@pytest.mark.parametrize("kind", ["__eq__", "__repr__", "all", "dict", "cyclic dict"])
def test_langchain_messages_are_repaired(kind: str) -> None:
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - slow to import

    from chatmend.langchain import repair_messages  # noqa: PLC0415

    value = OBJECTS[kind]()
    call = {"name": "f", "args": {"x": value}, "id": "c1", "type": "tool_call"}
    messages = [
        HumanMessage("hi", additional_kwargs={"x": value}),
        AIMessage("", tool_calls=[call], response_metadata={"x": value}),
        HumanMessage("on"),
    ]
    for target in TARGETS[:3]:
        sent = repair_messages(messages, target=target, on_error="raise")
        assert sent[0] is messages[0]
        assert [message.type for message in sent] == ["human", "ai", "tool", "human"]


@pytest.mark.parametrize("kind", ["__eq__", "__repr__", "all", "dict", "cyclic dict"])
def test_requests_of_litellm_are_repaired(kind: str) -> None:
    from chatmend.litellm.attempt import repair_attempt  # noqa: PLC0415 - slow to import
    from chatmend.litellm.shapes import CHAT  # noqa: PLC0415

    value = OBJECTS[kind]()
    for place in PLACES.values():
        request = {"model": "gpt-4o", "messages": place(value), "metadata": {"x": value}}
        repair_attempt(request, CHAT, "openai/gpt-4o")
