"""Makes one message of several of the same role: every part, in order, strings and lists mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.jsontext import is_same, strings
from chatmend.placeholders import CALL_NOTE, SYSTEM_NOTE
from chatmend.transcript import Message, Part, Role, Text, Thinking, ToolCall, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.dialects import Traits


_CARRIED = frozenset({"role", "type", "function_call", "cache_control"})
"""Keys of a message in any dialect whose words its parts hold, or that hold none."""


def merge(messages: Sequence[Message], traits: Traits) -> tuple[Message, Effect]:
    """One message with the content of all, calls last; and what that does to the content.

    Users of several names are named in the text. Other keys of the first win over those of later ones; where these say
    something else, that is gone.
    """
    names = [message.extra.get("name") for message in messages]
    if any(not is_same(name, names[0]) for name in names):
        messages = [introduced(message) for message in messages]
    native: dict[str, object] = {}
    for message in reversed(messages):
        native |= message.extra
    parts = [part for message in messages for part in message.parts]
    said = [part for part in parts if not isinstance(part, ToolCall)]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    old = [call for call in calls if call.legacy]
    said += [Text(CALL_NOTE + call.as_json) for call in old[:-1]]  # a message has place for one
    calls = [call for call in calls if not call.legacy or call is old[-1]]
    held = {*traits.content_keys, *(("tool_calls",) if traits.typed_calls else ())}
    written = held if parts else held - {*traits.content_keys}  # what is empty stays as it is
    written |= {"thinking_blocks"} if messages[0].is_assistant else set()
    body = {k: v for k, v in native.items() if k not in written}
    effect = Effect.DROPS if _says_otherwise(messages, native, held) else Effect.RESHAPES
    return replace(messages[0], parts=(*join_texts(said), *calls), native=body), effect


def _says_otherwise(messages: Sequence[Message], native: dict[str, object], read: set[str]) -> bool:
    """Whether a message has other words than these under a key that is not read into its parts."""
    held = _CARRIED | read | ({place_of(part) for message in messages for part in message.parts} - {"content"})
    return any(
        key not in held and str(key)[:1] != "_" and not is_same(value, native[key]) and any(map(bool, strings(value)))
        for message in messages
        if message.is_object
        for key, value in message.extra.items()
    )


def introduced(message: Message) -> Message:
    """A user's message with the name in front of its words, where it can say it, and not under a key."""
    native = message.extra
    name = native.get("name")
    if message.role is not Role.USER or message.results or not isinstance(name, str) or not name.strip():
        return message
    if any(isinstance(part, Text) and part.text.startswith(SYSTEM_NOTE) for part in message.parts):
        return message  # no user's
    bare = replace(message, native={key: value for key, value in native.items() if key != "name"})
    for at, part in enumerate(message.parts):
        if isinstance(part, Text):
            said = replace(part, text=f"{name}: {part.text}")
            return replace(bare, parts=(*message.parts[:at], said, *message.parts[at + 1 :]))
    return replace(bare, parts=(Text(f"{name}:"), *message.parts))


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Plain strings that meet become one, with a blank line between; parts of lists stay parts."""
    plain = all(not isinstance(part, Text) or not part.is_object for part in parts)
    kinds = {type(part) for part in parts if place_of(part) == "content"}
    if not plain or kinds != {Text}:
        return list(parts)
    words = [part.text for part in parts if isinstance(part, Text) and part.text]
    return [*(part for part in parts if isinstance(part, Thinking)), Text("\n\n".join(words))]
