"""Takes results out of their messages and tells them as notes where they stood, or drops them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.jsontext import strings
from chatmend.placeholders import CONTINUED, note
from chatmend.transcript import Message, Part, Role, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.context import Context
    from chatmend.windows import Place, Window

_OF_A_RESULT = frozenset(
    {
        "role", "content", "name", "tool_call_id", "tool_calls", "cache_control", "parts",
        "type", "call_id", "output", "id", "status",
    }
)  # fmt: skip


def tell(window: Window, places: Iterable[Place], dropped: frozenset[Place], why: str, effect: Effect) -> Iterator[Fix]:
    """One fix for each message that holds a result to be told as a note, or to be dropped.

    What stood in the assistant's turn is told behind it, so that the turn stays one.
    """
    by_message, gone = _by_message(places), _by_message(dropped)
    behind: list[Message] = []
    for at in sorted(by_message):
        if at >= window.run and behind:
            yield Fix(window.run, window.run, tuple(behind), why, effect)
            behind = []
        message = window.messages[at]
        kept, told = _sorted(message, by_message[at], gone[at])
        notes = (Message(Role.USER, tuple(told), unknown_keys(message)),) if told else ()
        if at < window.run:
            behind += notes
            kept, notes = kept or [Text(CONTINUED)], ()
        yield Fix(at, at + 1, (*((replace(message, parts=tuple(kept)),) if kept else ()), *notes), why, effect)
    if behind:
        yield Fix(window.run, window.run, tuple(behind), why, effect)


def _by_message(places: Iterable[Place]) -> defaultdict[int, set[int]]:
    """For each message which of its parts are meant."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for at, part_at in places:
        found[at].add(part_at)
    return found


def _sorted(message: Message, stray: set[int], dropped: set[int]) -> tuple[list[Part], list[Part]]:
    """The parts that stay in the message, and those that are told in one of their own."""
    kept: list[Part] = []
    told: list[Part] = []
    for part_at, part in enumerate(message.parts):
        if part_at not in stray or not isinstance(part, ToolResult):
            kept.append(part)
        elif part_at not in dropped:
            (kept if message.role is Role.USER else told).extend(note(part))
    return kept, told


def unknown_keys(message: Message) -> dict[object, object]:
    """The keys of a result's message that we do not know: they stay with the note."""
    native = message.extra
    return {key: value for key, value in native.items() if key not in _OF_A_RESULT}


def says_beside(message: Message, context: Context) -> bool:
    """Whether a message has words under keys that hold none in its dialect: they go where it goes."""
    native = message.extra
    held = _OF_A_RESULT - {"content", "parts", "output"} | {*context.traits.content_keys}
    return any(True for key in native if key not in held and str(key)[:1] != "_" for _ in strings(native[key]))
