"""Windows like those that were seen before are passed unread, whichever partner class wrote the answers."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend import engine
from chatmend.engine import Run
from chatmend.langchain.partners import find_destination, find_destination_by_name
from chatmend.langchain.settings import RepairSettings
from chatmend.rules import RULES, Rule
from chatmend.rules.rule import KeyedJudge
from tests.every_rule import every_rule, forget
from tests.langchain.answers import BODIES, PIXEL, answer_of
from tests.langchain.classes import CLASSES, DESTINATIONS
from tests.langchain.recorder import Recorder
from tests.langchain.repairing import repaired
from tests.scale import examples, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

BEDROCK, GEMINI = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "gemini/gemini-2.5-flash"
_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "item_id"})
REPAIRED = {
    "mistral": "Mistral accepts no user message directly after a result",
    "openai-responses v1": "langchain-openai cannot send each of these items",
    "gemini": "a block of code has an enum as its language",
}
"""Answers that need a repair, or that hold objects that are not plain JSON."""


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        yield server


def numbered(value: Any, number: int, key: object = None) -> Any:
    """Return a copy of a value in which each id ends with a number."""
    if isinstance(value, dict):
        return {name: numbered(held, number, name) for name, held in value.items()}
    if isinstance(value, list):
        return [numbered(item, number) for item in value]
    is_id = isinstance(value, str) and value and key in _ID_KEYS
    return f"{value}{number:02d}" if is_id else value


def conversation(answer: AIMessage, numbers: range) -> list[BaseMessage]:
    """Return a conversation with the answer, its calls and their results once for each number."""
    messages: list[BaseMessage] = []
    for number in numbers:
        one = AIMessage(**numbered(answer.model_dump(), number))
        results = [
            ToolMessage(f"{number} degrees", tool_call_id=call["id"], name=call["name"])
            for call in one.tool_calls
        ]
        messages += [HumanMessage(f"question {number}"), one, *results]
    return [*messages, HumanMessage("and now?")]


@pytest.mark.parametrize("name", [name for name in BODIES if name not in REPAIRED])
def test_no_window_is_read_after_others_with_such_answers(name: str, recorder: Recorder) -> None:
    key = name.partition(" ")[0]
    answer = answer_of(recorder, name)
    model = CLASSES[key].model(recorder.url(CLASSES[key].wire))
    settings, destination = RepairSettings(on_error="raise"), find_destination(model, {})
    forget()
    for start in (0, 5, 10):
        messages = conversation(answer, range(start, start + 4))
        assert repaired(messages, destination, settings).changes == ()
    messages = conversation(answer, range(20, 25))
    with patch.object(Run, "_read_window", side_effect=AssertionError("a window was read")):
        done = repaired(messages, destination, settings)
    assert done.messages is messages


def file(name: str, key: str = "name") -> dict[str, Any]:
    held = {"extras": {"filename": name}} if key == "extras" else {key: name}
    return {"type": "file", "base64": "JVBERi0xLjQK", "mime_type": "application/pdf", **held}


def document(name: str, key: str = "name") -> dict[str, Any]:
    return {"document": {"format": "txt", key: name, "source": {"text": "hello"}}}


def as_user(block: Any) -> Any:
    return HumanMessage([{"type": "text", "text": "Read it."}, block])


def as_dict(block: Any) -> Any:
    return {"role": "user", "content": [{"type": "text", "text": "Read it."}, block]}


def as_result(block: Any) -> Any:
    held = {"type": "tool_result", "tool_use_id": "call_1", "content": [block]}
    return HumanMessage([held])


def codes_of(messages: list[Any], target: str) -> list[str]:
    destination, settings = find_destination_by_name(target), RepairSettings(on_error="raise")
    done = repaired(messages, destination, settings)
    return [change.code for change in done.changes]


CALLS: Any = [{"name": "f", "args": {}, "id": "call_1", "type": "tool_call"}]
ASKED = [HumanMessage("go"), AIMessage("", tool_calls=CALLS)]


@pytest.mark.parametrize("make", [file, document])
@pytest.mark.parametrize("key", ["name", "filename", "extras"])
@pytest.mark.parametrize("place", [as_user, as_dict, as_result])
def test_the_name_of_a_document_is_checked_after_valid_ones(
    place: Any, make: Any, key: str
) -> None:
    def codes(*names: str) -> list[str]:
        start = ASKED if place is as_result else []
        turns = [[place(make(name, key)), AIMessage("I read it.")] for name in names]
        messages = [message for turn in turns for message in turn]
        return codes_of([*start, *messages, HumanMessage("and?")], BEDROCK)

    names = (("a",), ("b",), ("c",), ("a.b",), ("a", "a"), ("c", "d"))
    expected = {}
    for one in names:
        forget()
        expected[one] = codes(*one)
    forget()
    for _ in range(3):
        assert {one: codes(*one) for one in names} == expected
    if place is not as_result and (make is file or key == "name"):
        assert "DOC001" in expected["a.b",]
        assert "DOC001" in expected["a", "a"]


@pytest.mark.parametrize("as_object", [True, False])
def test_a_reference_is_found_in_results_like_those_without_one(*, as_object: bool) -> None:
    def codes(text: str) -> list[str]:
        result: Any = {"role": "tool", "tool_call_id": "call_1", "name": "f", "content": text}
        given = ToolMessage(text, tool_call_id="call_1", name="f") if as_object else result
        return codes_of([*ASKED, given], GEMINI)

    forget()
    for number in range(4):
        assert codes(f"refused {number}") == []
        assert codes('{"$ref": "#/a"}') == ["TOOL023"]
        assert codes(f'{{"preference": {number}}}') == []


def test_a_reference_in_a_dict_is_found_beside_a_rule_on_every_message() -> None:
    """Such a rule of one's own makes the engine examine each message key by key."""
    every = KeyedJudge(frozenset({"content"}), lambda *_: lambda _: None)
    rules = (*RULES, Rule("OWN001", "own", lambda *_: (), {"parts": every}))

    def codes(text: str) -> list[str]:
        result = {"role": "tool", "tool_call_id": "call_1", "name": "f", "content": text}
        return codes_of([*ASKED, result], GEMINI)

    with patch.object(engine, "rules_for", lambda *_: rules):
        for number in range(4):
            assert codes(f"refused {number}") == []
            assert codes('{"$ref": "#/a"}') == ["TOOL023"]


def use(call_id: str, **keys: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {"a": 1}, **keys}


@pytest.mark.parametrize("target", ["anthropic/claude-opus-4-8", BEDROCK])
def test_a_call_that_the_content_repeats_or_lacks_is_found_after_valid_ones(target: str) -> None:
    def codes(*blocks: Any) -> list[str]:
        entries: Any = [{"name": "f", "args": {"a": 1}, "id": i, "type": "tool_call"} for i in "AB"]
        results = [ToolMessage(f"{number}", tool_call_id=i) for number, i in enumerate("AB")]
        messages = [HumanMessage("q"), AIMessage(list(blocks), tool_calls=entries), *results]
        return codes_of([*messages, HumanMessage("n")], target)

    incomplete = {key: value for key, value in use("B").items() if key != "name"}
    given = {
        "valid": [use("A"), use("B")],
        "repeated": [use("A"), use("A")],
        "reversed": [use("B"), use("A")],
        "incomplete": [use("A"), incomplete],
    }
    expected = {}
    for name, blocks in given.items():
        forget()
        expected[name] = codes(*blocks)
    assert expected["valid"] == []
    assert expected["repeated"] == ["TOOL021"]
    forget()
    for _ in range(4):
        assert {name: codes(*blocks) for name, blocks in given.items()} == expected


VALUES: list[Any] = [None, "", " ", "\ud83d", "ig_1", "rs_1", "call_1", "x" * 70, 7, [], {}, True]
VALUES += ["non_standard", "image", "tool_call", "function_call", "function_call_output"]
MEDIA_BLOCKS: list[Any] = [
    {"type": "text", "text": "Read it."},
    {"type": "image", "base64": PIXEL, "mime_type": "image/png", "id": "ig_1"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    {"type": "text", "text": "Read it.", "cache_control": {"type": "ephemeral"}},
    document("a"),
    file("a"),
    {"type": "tool_result", "tool_use_id": "call_1", "content": "18"},
]


def edited(content: Any, rng: Random) -> Any:
    """Return a copy of a content in which one value of a block was replaced or removed."""
    content = deepcopy(content)
    holders = [content]
    for holder in holders:
        inner = holder.values() if isinstance(holder, dict) else holder
        holders += [value for value in inner if isinstance(value, dict | list) and value]
    holder: Any = rng.choice(holders)
    key = rng.choice([*holder] if isinstance(holder, dict) else range(len(holder)))
    holder[key] = deepcopy(rng.choice(VALUES))
    return content


def damaged(answer: AIMessage, count: int) -> Iterator[list[BaseMessage]]:
    """Yield conversations with an answer, in which a block of each message differs."""
    for seed in range(count):
        rng, one = Random(seed), answer.model_copy(deep=True)
        if seed and isinstance(one.content, list):
            one.content = edited(one.content, rng)
        results = [ToolMessage("18", tool_call_id=call["id"] or "") for call in one.tool_calls]
        question = HumanMessage("go")
        for message in (question, *results[:1]):
            message.content = edited(rng.sample(MEDIA_BLOCKS, 2), rng)
        yield [question, one, *results, HumanMessage("and now?")]


@pytest.mark.parametrize("name", sampled([*DESTINATIONS], ["responses", "anthropic"]))
def test_what_is_known_does_not_affect_the_repair_of_any_answer(
    name: str, recorder: Recorder
) -> None:
    answers = [answer_of(recorder, body) for body in BODIES]
    chats = [chat for answer in answers for chat in damaged(answer, examples(4, 20))]
    destination = find_destination(DESTINATIONS[name].model("http://127.0.0.1:1"), {})
    settings = RepairSettings(on_error="raise")

    def repair(messages: list[BaseMessage]) -> str:
        done = repaired(messages, destination, settings)
        contents = [(message.type, message.content, message) for message in done.messages]
        changes = [(change.code, change.index, change.why) for change in done.changes]
        return str((contents, changes))

    with every_rule():
        expected = [repair(chat) for chat in chats]
    forget()
    for at in Random(name).sample([*range(len(chats))] * 3, 3 * len(chats)):
        assert repair(chats[at]) == expected[at], chats[at]
