"""Converts tool calls and results to text notes at the same position, or drops results."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.openai_chat import other_call_keys
from chatmend.jsontext import dumps, strings
from chatmend.placeholders import CALL_NOTE, CONTINUED, note
from chatmend.transcript import Message, Part, Role, Text, ToolCall, ToolResult, is_private_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.windows import PartPosition, Window

_STRUCTURE = frozenset(
    {
        "role", "name", "tool_call_id", "tool_calls", "cache_control", "type", "call_id", "id",
        "status",
    }
)  # fmt: skip
"""Keys of messages and items that hold neither content nor anything unknown."""
_OTHER_CALL = "function_call"
"""A key that no item of the Responses API has: with it, a message is one of Chat Completions."""


def convert_to_notes(  # noqa: PLR0913 - what to convert, and how to report it
    window: Window,
    context: Context,
    positions: Iterable[PartPosition],
    why: str,
    effect: Effect,
    *,
    dropped: frozenset[PartPosition] = frozenset(),
) -> Iterator[Fix]:
    """Yield a fix for each message with a result to convert to a note or to drop.

    Notes of results inside the assistant's run come after the run, so that it stays one turn.

    Args:
        window: the window that holds the results.
        context: the target and the dialect.
        positions: the positions of all results to convert or drop.
        why: the reason in each fix.
        effect: the effect of each fix.
        dropped: the positions of those to drop.
    """
    by_message, dropped_by_message = _group_by_message(positions), _group_by_message(dropped)
    after_run: list[Message] = []
    for at in sorted(by_message):
        if at >= window.run_length and after_run:
            yield Fix(window.run_length, window.run_length, tuple(after_run), why, effect)
            after_run = []
        message = window.messages[at]
        kept, converted = _split_parts(message, by_message[at], dropped_by_message[at])
        converted += _other_call(message) if converted else []
        keys = unknown_keys(message, context.traits)
        notes = (Message(Role.USER, tuple(converted), keys),) if converted else ()
        if at < window.run_length:
            after_run += notes
            kept, notes = kept or [Text(CONTINUED)], ()
        yield Fix(
            at, at + 1, (*((message.with_parts(tuple(kept)),) if kept else ()), *notes), why, effect
        )
    if after_run:
        yield Fix(window.run_length, window.run_length, tuple(after_run), why, effect)


def _group_by_message(positions: Iterable[PartPosition]) -> defaultdict[int, set[int]]:
    """Group positions of parts by the index of their message."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for at, part_at in positions:
        found[at].add(part_at)
    return found


def _split_parts(
    message: Message, stray: set[int], dropped: set[int]
) -> tuple[list[Part], list[Part]]:
    """Return the parts that stay in the message, and the notes for a separate message."""
    kept: list[Part] = []
    converted: list[Part] = []
    for part_at, part in enumerate(message.parts):
        if part_at not in stray or not isinstance(part, ToolResult):
            kept.append(part)
        elif part_at not in dropped:
            (kept if message.role is Role.USER else converted).extend(note(part))
    return kept, converted


def unknown_keys(message: Message, traits: Traits) -> dict[object, object]:
    """Return the keys that hold no content in this dialect, with their values."""
    native = message.extra
    known = _known_keys(traits) | ({_OTHER_CALL} if _is_item(native) else set())
    return {key: value for key, value in native.items() if key not in known}


def _known_keys(traits: Traits) -> frozenset[str]:
    return _STRUCTURE.union(traits.content_keys, traits.image_keys)


def _is_item(native: dict[str, object]) -> bool:
    return "type" in native and "role" not in native


def _other_call(message: Message) -> list[Part]:
    """Return a note of the call under a key that an item does not have, if there is one.

    With this key, the note would be read as a message of Chat Completions.
    """
    native = message.extra
    if _OTHER_CALL not in native or not _is_item(native):
        return []
    return [Text(CALL_NOTE + dumps(native[_OTHER_CALL]))]


def has_text_in_other_keys(message: Message, context: Context) -> bool:
    """Whether a message has texts under keys that hold no content in its dialect.

    These texts are lost if the message is dropped.
    """
    native, known = message.extra, _known_keys(context.traits)
    return any(
        True
        for key in native
        if key not in known and not is_private_key(key)
        for _ in strings(native[key])
    )


def convert_to_text(message: Message, traits: Traits) -> Message:
    """Return a message with its calls and results converted to text."""
    parts = tuple(converted for part in message.parts for converted in _convert_part(part, traits))
    if message.role is Role.TOOL:
        return Message(Role.USER, parts, unknown_keys(message, traits))
    return message.with_parts(parts)


def _convert_part(part: Part, traits: Traits) -> tuple[Part, ...]:
    if isinstance(part, ToolCall):
        others = other_call_keys(part.extra) if traits.has_calls_key else {}
        called = {"name": part.name, "arguments": part.arguments, **others}
        return (Text(CALL_NOTE + dumps(called)),)
    return note(part) if isinstance(part, ToolResult) else (part,)
