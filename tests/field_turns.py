"""Reads a request body of any wire format as turns: roles, calls and results.

Does not use chatmend's dialects, so that a mistake in them cannot hide in the verdict on a repair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.judges.reading import blocks, calls, function, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any
KEYS = {"openai_responses": "input", "gemini_contents": "contents"}
"""Where the messages are, if not under ``messages``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    id: Json
    name: Json
    arguments: Json


@dataclass(slots=True)
class Turn:
    """One message, content or item."""

    role: str
    native: dict[str, Json]
    parts: list[dict[str, Json]]
    """Its blocks; a text is one block."""
    calls: list[Call] = field(default_factory=list)
    pieces: list[tuple[str, Json]] = field(default_factory=list)
    """In order: ``("result", call id)``, or ``("other", None)`` for any other content except calls."""

    def add(self, kind: str, call_id: Json = None) -> None:
        """Note a piece."""
        self.pieces.append((kind, call_id))


def messages_of(form: str, body: dict[str, Json]) -> Json:
    """What a body holds as its messages."""
    return body.get(KEYS.get(form, "messages"))


def turns_of(form: str, body: dict[str, Json]) -> list[Turn]:
    """The turns of a body."""
    return [_READERS[form](message) for message in objects(messages_of(form, body))]


def _chat(message: dict[str, Json]) -> Turn:
    turn = Turn(str(message.get("role")), message, blocks(message.get("content")))
    if turn.role == "tool":
        turn.add("result", message.get("tool_call_id"))
    elif message.get("content"):
        turn.add("other")
    for call in calls(message):
        held = function(call)
        turn.calls.append(Call(call.get("id"), held.get("name"), held.get("arguments")))
    return turn


def _anthropic(message: dict[str, Json]) -> Turn:
    turn = Turn(str(message.get("role")), message, blocks(message.get("content")))
    for block in turn.parts:
        if block.get("type") == "tool_use":
            turn.calls.append(Call(block.get("id"), block.get("name"), block.get("input")))
        elif block.get("type") == "tool_result":
            turn.add("result", block.get("tool_use_id"))
        else:
            turn.add("other")
    return turn


def _converse(message: dict[str, Json]) -> Turn:
    turn = Turn(str(message.get("role")), message, blocks(message.get("content")))
    for block in turn.parts:
        if isinstance(use := block.get("toolUse"), dict):
            turn.calls.append(Call(use.get("toolUseId"), use.get("name"), use.get("input")))
        elif isinstance(result := block.get("toolResult"), dict):
            turn.add("result", result.get("toolUseId"))
        else:
            turn.add("other")
    return turn


def _gemini(content: dict[str, Json]) -> Turn:
    """Without ids a response answers by its name."""
    turn = Turn(str(content.get("role")), content, objects(content.get("parts")))
    for part in turn.parts:
        if isinstance(call := part.get("functionCall"), dict):
            turn.calls.append(
                Call(call.get("id") or call.get("name"), call.get("name"), call.get("args"))
            )
        elif isinstance(result := part.get("functionResponse"), dict):
            turn.add("result", result.get("id") or result.get("name"))
        else:
            turn.add("other")
    return turn


def _item(item: dict[str, Json]) -> Turn:
    kind = item.get("type", "message")
    if kind == "message":
        return Turn(
            str(item.get("role")), item, blocks(item.get("content")), pieces=[("other", None)]
        )
    if kind == "function_call":
        return Turn(
            "assistant",
            item,
            [],
            [Call(item.get("call_id"), item.get("name"), item.get("arguments"))],
        )
    if kind == "function_call_output":
        return Turn("tool", item, [], pieces=[("result", item.get("call_id"))])
    return Turn("assistant", item, [], pieces=[("other", None)])


_READERS = {
    "openai_chat": _chat,
    "ollama_chat": _chat,
    "anthropic_messages": _anthropic,
    "bedrock_converse": _converse,
    "gemini_contents": _gemini,
    "openai_responses": _item,
}
MODEL = ("assistant", "model")
"""The roles of what the model wrote."""


def pairing(turns: list[Turn]) -> tuple[list[Json], list[Json]]:
    """The ids of calls that are not answered directly after them, and of results that answer no such call.

    The calls of neighbouring messages are parallel calls; any other content ends the results.
    """
    missing: list[Json] = []
    orphans: list[Json] = []
    waiting: list[Json] = []
    calling = False
    for turn in turns:
        if not (turn.calls and calling):
            calling = bool(turn.calls)
            if turn.role in MODEL:
                missing, waiting = missing + waiting, []
        waiting += [call.id for call in turn.calls]
        for kind, call_id in [] if turn.role in MODEL else turn.pieces:
            if kind != "result":
                missing, waiting = missing + waiting, []
            elif call_id in waiting:
                waiting.remove(call_id)
            else:
                orphans.append(call_id)
    return missing + waiting, orphans


def walk(value: Json) -> Iterator[dict[str, Json]]:
    """Every object inside a value, the outer one first."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)
