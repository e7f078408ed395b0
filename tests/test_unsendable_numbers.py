"""Numbers that JSON does not have, in arguments and results that are objects (TOOL013)."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from chatmend.jsonnumbers import has_unsendable_number, with_json_numbers

NAN, INF = float("nan"), float("inf")
TARGETS = {
    "anthropic_messages": "anthropic/claude-sonnet-4-6",
    "gemini_contents": "gemini/gemini-2.5-pro",
    "bedrock_converse": "bedrock/us.amazon.nova-pro-v1:0",
    "ollama_chat": "ollama/llama3.1",
}
CLEAN: list[Any] = [{"x": 1.5, "y": [1e300, -0.0, 10**30], "z": {"n": None, "t": True}}]
DEFECTS: list[tuple[Any, Any]] = [
    ({"x": NAN}, {"x": "NaN"}),
    ({"x": [1, {"y": INF, "z": -INF}]}, {"x": [1, {"y": "Infinity", "z": "-Infinity"}]}),
    ({"x": Decimal("1.5"), "n": Decimal(3)}, {"x": 1.5, "n": 3}),
    ({"x": (Decimal("0.1"),)}, {"x": [0.1]}),
    (
        {"x": Decimal("0.12345678901234567890"), "y": Decimal("1E+5000"), "z": Decimal("NaN")},
        {"x": "0.12345678901234567890", "y": "1E+5000", "z": "NaN"},
    ),
]


def transcript(dialect: str, value: Any, result: Any = None) -> list[Any]:
    """A call with arguments, and its result where a result is JSON."""
    result = {"a": 1} if result is None else result
    if dialect == "anthropic_messages":
        use = {"type": "tool_use", "id": "t1", "name": "f", "input": value}
        answer = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
        return [said("user", "q"), said("assistant", [use]), said("user", [answer])]
    if dialect == "gemini_contents":
        return [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": value}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "f", "response": result}}],
            },
        ]
    if dialect == "bedrock_converse":
        use = {"toolUse": {"toolUseId": "t1", "name": "f", "input": value}}
        answer = {"toolResult": {"toolUseId": "t1", "content": [{"json": result}]}}
        return [said("user", [{"text": "q"}]), said("assistant", [use]), said("user", [answer])]
    call = {"function": {"name": "f", "arguments": value}}
    answered = {"role": "tool", "tool_name": "f", "content": "r"}
    return [said("user", "q"), {**said("assistant", ""), "tool_calls": [call]}, answered]


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def repaired(dialect: str, value: Any, result: Any = None) -> tuple[list[Any], list[Any]]:
    messages = transcript(dialect, value, result)
    done = chatmend.repair(messages, TARGETS[dialect], dialect=dialect)
    again = chatmend.repair(done.messages, TARGETS[dialect], dialect=dialect)
    assert again.messages is done.messages
    start = chatmend.repair(messages[:1], TARGETS[dialect], dialect=dialect).messages
    assert done.messages[:1] == start
    return done.messages, [(change.code, change.effect) for change in done.changes]


@pytest.mark.parametrize("dialect", TARGETS)
def test_numbers_of_json_are_unchanged(dialect: str) -> None:
    for value in CLEAN:
        messages = transcript(dialect, value, value)
        assert chatmend.repair(messages, TARGETS[dialect], dialect=dialect).messages is messages


@pytest.mark.parametrize("dialect", TARGETS)
@pytest.mark.parametrize(("value", "becomes"), DEFECTS)
def test_numbers_that_json_lacks_are_replaced_in_arguments(
    value: Any, becomes: Any, dialect: str
) -> None:
    for _ in range(3):  # also if the structure is known as clean
        clean = transcript(dialect, {"x": 1.0})
        assert chatmend.repair(clean, TARGETS[dialect], dialect=dialect).messages is clean
    messages, changes = repaired(dialect, value)
    assert messages == transcript(dialect, becomes)
    assert changes == [("TOOL013", Effect.RESHAPES)]
    json.dumps(messages, allow_nan=False)


@pytest.mark.parametrize("dialect", ["gemini_contents", "bedrock_converse"])
@pytest.mark.parametrize(("value", "becomes"), DEFECTS)
def test_numbers_that_json_lacks_are_replaced_in_results(
    value: Any, becomes: Any, dialect: str
) -> None:
    clean = transcript(dialect, {}, {"x": 1.0})
    assert chatmend.repair(clean, TARGETS[dialect], dialect=dialect).messages is clean
    messages, changes = repaired(dialect, {}, value)
    assert messages == transcript(dialect, {}, becomes)
    assert changes == [("TOOL013", Effect.RESHAPES)]


@pytest.mark.parametrize(("value", "becomes"), DEFECTS)
def test_the_text_of_an_object_has_only_numbers_of_json(value: Any, becomes: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": value}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    messages = [said("user", "q"), {**said("assistant", None), "tool_calls": [call]}, answer]
    sent = chatmend.repair(messages, "openai/gpt-4o").messages[1]["tool_calls"][0]["function"]
    assert json.loads(sent["arguments"]) == becomes


def test_values_without_such_numbers_stay_the_same_objects() -> None:
    inner = {"a": [1.0]}
    value = {"same": inner, "x": NAN}
    before = copy.deepcopy(value)
    assert with_json_numbers(value)["same"] is inner
    assert repr(value) == repr(before)


def test_a_value_that_holds_itself_ends() -> None:
    value: dict[str, Any] = {}
    value["x"] = [value]
    assert not has_unsendable_number(value)
