"""Windows of message objects that come again are repaired as before, unless they have changed."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

pytest.importorskip("langchain_openai")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend import known_transcripts, rule_cache
from chatmend.engine import Run
from chatmend.langchain.partners import find_destination
from chatmend.langchain.settings import RepairSettings
from tests.broken.nested import digest
from tests.every_rule import forget
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import WIRES, transcript
from tests.langchain.repairing import repaired
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = RepairSettings(on_error="raise")
NAMES = (
    "anthropic",
    "openai",
    "responses",
    "bedrock claude",
    "gemini 3",
    "mistral",
    "litellm anthropic",
)


def destination_of(name: str) -> Any:
    return find_destination(DESTINATIONS[name].model("http://127.0.0.1:1"), {}, None)


@contextmanager
def nothing_known() -> Iterator[None]:
    """Empty caches of their own."""
    with (
        patch.object(rule_cache, "_CACHES", {}),
        patch.object(known_transcripts, "_SOURCES", {}),
    ):
        yield


def account(done: Any) -> str:
    """Return a digest of a repair."""
    changes = [[getattr(change, field.name) for field in fields(change)] for change in done.changes]
    return digest(_plain([done.messages, done.tools, changes]))


def _plain(value: Any) -> Any:
    """Return lists for tuples, and the class and fields of messages."""
    if isinstance(value, BaseMessage):
        return [type(value).__name__, value.__dict__]
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def broken_chat() -> list[BaseMessage]:
    """Return a conversation whose call in the middle has no result."""
    call: Any = {"name": "f", "args": {"at": "Paris"}, "id": "call_1", "type": "tool_call"}
    return [
        HumanMessage("go"),
        AIMessage("", tool_calls=[call]),
        HumanMessage("and now?"),
        AIMessage("It is warm."),
        HumanMessage("thanks"),
    ]


def change_in_place(messages: list[BaseMessage], rng: Random) -> None:
    """Change a value of one message."""
    message: Any = rng.choice(messages)
    edits: list[Any] = [lambda: setattr(message, "content", rng.choice(["", " ", "new", "\ud83d"]))]
    if isinstance(message, AIMessage) and message.tool_calls:
        call: Any = message.tool_calls[0]
        edits += [
            lambda: call.update(id=rng.choice(["call.x", "call_1", "", None])),
            lambda: call.update(name=rng.choice(["a b", "f"])),
            lambda: call.update(args=rng.choice([{"a": float("nan")}, {}, {"a": [1]}])),
            message.tool_calls.pop,
        ]
    if isinstance(message, ToolMessage):
        edits.append(lambda: setattr(message, "tool_call_id", rng.choice(["call_1", "other", ""])))
    if isinstance(message.content, list) and message.content:
        block = message.content[0]
        edits.append(message.content.pop)
        if isinstance(block, dict):
            edits += [lambda: block.update(text="changed"), lambda: block.update(type="other")]
    rng.choice(edits)()


@pytest.mark.parametrize("name", NAMES)
def test_messages_that_come_again_are_repaired_as_if_they_were_new(name: str) -> None:
    """An agent sends a growing list of the same objects; now and then one is changed."""
    destination = destination_of(name)
    for seed in range(examples(25, nightly=500)):
        rng, whole = Random(f"again:{name}:{seed}"), transcript(seed, WIRES[seed % len(WIRES)])
        for length in range(1, len(whole) + 1):
            for _ in range(3):
                sent = whole[:length]
                with nothing_known():
                    expected = account(repaired(sent, destination, SETTINGS))
                assert account(repaired(sent, destination, SETTINGS)) == expected, seed
            if rng.random() < 0.3:
                change_in_place(whole[:length], rng)


def test_a_window_that_comes_again_is_repaired_without_a_rule() -> None:
    forget()
    destination, messages = destination_of("openai"), broken_chat()
    for _ in range(4):
        expected = repaired(messages, destination, SETTINGS)
    with patch.object(Run, "_read_window", side_effect=AssertionError("a window was read")):
        again = repaired(messages, destination, SETTINGS)
        moved = repaired([HumanMessage("first"), *messages[1:]], destination, SETTINGS)
    assert [change.code for change in expected.changes] == ["TOOL007"]
    assert account(again) == account(expected)
    assert moved.messages[2] is again.messages[2]


def test_the_changes_of_a_window_have_its_position_in_the_request() -> None:
    destination, messages = destination_of("openai"), broken_chat()
    for _ in range(4):
        repaired(messages, destination, SETTINGS)
    longer = [HumanMessage("a"), AIMessage("b"), *messages]
    (change,) = repaired(longer, destination, SETTINGS).changes
    with nothing_known():
        (expected,) = repaired(longer, destination, SETTINGS).changes
    assert (change.index, change.window) == (expected.index, expected.window)


def test_a_message_that_a_repair_added_is_not_used_again_after_a_caller_changed_it() -> None:
    destination, messages = destination_of("openai"), broken_chat()
    for _ in range(4):
        added = repaired(messages, destination, SETTINGS).messages[2]
    text, added.content = added.content, "changed by a callback"
    assert repaired(messages, destination, SETTINGS).messages[2].content == text


@pytest.mark.parametrize("messages", [broken_chat(), broken_chat()[3:]])
def test_messages_are_freed(messages: list[BaseMessage]) -> None:
    destination, sent = destination_of("openai"), deepcopy(messages)
    for _ in range(4):
        repaired(sent, destination, SETTINGS)
    references = [weakref.ref(message) for message in sent]
    del sent
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)
