"""Parts and arguments that Cohere's and Mistral's own APIs accept."""

from __future__ import annotations

import math
from typing import Any

import pytest

import chatmend
from chatmend import Effect
from tests.promises import broken_promises

COHERE = ("cohere_chat/command-a-reasoning-08-2025", "cohere/command-r-08-2024")
MISTRAL = "mistral/mistral-large-latest"
ASK = {"role": "user", "content": "go"}
THINKING = {"type": "thinking", "thinking": "hm"}
TEXT = {"type": "text", "text": "hi"}
LINK = {"type": "resource_link", "uri": "https://example.com/a"}
RESOURCE = {"type": "resource", "uri": "https://example.com/a", "content": TEXT}


def answer(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def exchange(arguments: object, content: object = "ok") -> list[dict[str, Any]]:
    call = {
        "id": "abcdefghi",
        "type": "function",
        "function": {"name": "f", "arguments": arguments},
    }
    return [
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": content},
    ]


@pytest.mark.parametrize("target", COHERE)
@pytest.mark.parametrize("parts", [(THINKING, TEXT), (THINKING,)])
def test_cohere_gets_its_own_thinking_back(target: str, parts: Any) -> None:
    messages = [ASK, answer(*parts), ASK]
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [TEXT, LINK]}],
        [{"role": "user", "content": [TEXT, {**LINK, "metadata": {"name": "a"}}]}],
        [{"role": "user", "content": [TEXT, RESOURCE]}],
        exchange("{}", [LINK]),
        exchange("{}", [RESOURCE]),
        exchange({"a": 1}),
        exchange({}),
        exchange('{"a": 1}'),
    ],
)
def test_mistral_gets_its_own_parts_and_arguments(messages: list[Any]) -> None:
    assert chatmend.repair(messages, MISTRAL).messages is messages


def test_cohere_gets_no_signature() -> None:
    messages = [ASK, answer({**THINKING, "signature": "EqQB" + "A" * 200}, TEXT), ASK]
    done = chatmend.repair(messages, COHERE[0])
    assert done.messages[1] == answer(THINKING, TEXT)
    assert [change.code for change in done.changes] == ["THINK001"]
    assert not list(broken_promises(messages, COHERE[0], "openai_chat"))


@pytest.mark.parametrize(
    "foreign",
    [
        {"type": "thinking", "thinking": [TEXT]},
        {"type": "redacted_thinking", "data": "x"},
    ],
)
def test_cohere_gets_no_thinking_of_other_forms(foreign: dict[str, Any]) -> None:
    done = chatmend.repair([ASK, answer(foreign, TEXT), ASK], COHERE[0])
    assert done.messages[1] == answer(TEXT)


def test_cohere_gets_no_thinking_of_a_user() -> None:
    done = chatmend.repair([{"role": "user", "content": [THINKING, TEXT]}], COHERE[0])
    assert done.messages == [{"role": "user", "content": [TEXT]}]


def test_other_keys_of_a_link_move_to_its_metadata() -> None:
    link = {**LINK, "name": "a.txt", "size": 3, "title": None, "icons": [{"src": "i"}]}
    messages = [{"role": "user", "content": [TEXT, link]}]
    done = chatmend.repair(messages, MISTRAL)
    metadata = {"name": "a.txt", "size": 3, "icons": '[{"src": "i"}]'}
    assert done.messages[0]["content"][1] == {**LINK, "metadata": metadata}
    [change] = done.changes
    assert (change.code, change.effect) == ("KEY001", Effect.RESHAPES)
    assert not list(broken_promises(messages, MISTRAL, "openai_chat"))


def test_a_key_that_the_metadata_of_a_link_has_already_is_reported_as_dropped() -> None:
    link = {**LINK, "name": "a.txt", "metadata": {"name": "b.txt"}}
    done = chatmend.repair([{"role": "user", "content": [link]}], MISTRAL)
    assert done.messages[0]["content"] == [{**LINK, "metadata": {"name": "b.txt"}}]
    assert [change.effect for change in done.changes] == [Effect.DROPS]


@pytest.mark.parametrize("arguments", [{"a": math.nan}, 5, None, [1]])
def test_other_arguments_become_the_text_of_an_object(arguments: object) -> None:
    done = chatmend.repair(exchange(arguments), MISTRAL)
    [call] = done.messages[1]["tool_calls"]
    assert isinstance(call["function"]["arguments"], str)
    assert [change.code for change in done.changes] == ["TOOL013"]


def test_an_object_without_a_json_form_is_found_after_one_that_has_one() -> None:
    for arguments in ({"a": 1.0}, {"a": math.nan}, {"a": 2.0}):
        messages = exchange(arguments)
        is_fine = chatmend.repair(messages, MISTRAL).messages is messages
        assert is_fine is not math.isnan(arguments["a"])
