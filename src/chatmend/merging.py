"""Merges several messages of the same role into one, with all parts in order.

The contents of the messages may be strings and lists of parts, also mixed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.jsontext import is_same, strings
from chatmend.placeholders import CALL_NOTE, SYSTEM_NOTE
from chatmend.transcript import (
    PROVENANCE,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    is_private_key,
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.dialects import Traits


_KEYS_WITHOUT_TEXT = frozenset({"role", "type", "function_call", "cache_control"})
"""Keys of a message, in any dialect, that hold no text or whose text is read into the parts."""


def merge(messages: Sequence[Message], traits: Traits) -> tuple[Message, Effect]:
    """Return one message with the parts of all, calls last, and the effect of the merge.

    If the messages have different names, the names are put into the text. Other keys are taken from
    the first message that has them; different values in later messages are dropped.
    """
    names = [message.extra.get("name") for message in messages]
    if any(not is_same(name, names[0]) for name in names):
        messages = [with_name_in_text(message) for message in messages]
    parts = [part for message in messages for part in message.parts]
    content = [part for part in parts if not isinstance(part, ToolCall)]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    legacy_calls = [call for call in calls if call.legacy]
    # A message can hold only one legacy call.
    content += [Text(CALL_NOTE + call.as_json) for call in legacy_calls[:-1]]
    calls = [call for call in calls if not call.legacy or call is legacy_calls[-1]]
    with_keys, effect = with_keys_of_all(messages, traits, has_parts=bool(parts))
    return with_keys.with_parts((*join_texts(content), *calls)), effect


def with_keys_of_all(
    messages: Sequence[Message], traits: Traits, *, has_parts: bool = True
) -> tuple[Message, Effect]:
    """Return the first message with the keys of all, and the effect if it replaces them.

    Keys with content are removed, because the parts are written; without parts (``has_parts``),
    empty content stays unchanged.
    """
    native: dict[str, object] = {}
    for message in reversed(messages):
        native |= message.extra
    content_keys = {*traits.content_keys, *traits.image_keys}
    read_keys = content_keys | ({"tool_calls"} if traits.has_calls_key else set())
    written = read_keys if has_parts else read_keys - content_keys
    written |= {"thinking_blocks"} if messages[0].is_assistant else set()
    if provenance := _provenance_of_thinking(messages):
        native[PROVENANCE] = provenance
    else:
        native.pop(PROVENANCE, None)
    body = {k: v for k, v in native.items() if k not in written}
    effect = Effect.DROPS if _loses_text(messages, native, read_keys) else Effect.RESHAPES
    return replace(messages[0], native=body), effect


def _provenance_of_thinking(messages: Sequence[Message]) -> object:
    """Return the provenance of the first message with thinking; without any, of the first one.

    Whether a target accepts thinking depends on the provider that wrote it.
    """
    thinking = (one for one in messages if any(isinstance(part, Thinking) for part in one.parts))
    return next(thinking, messages[0]).extra.get(PROVENANCE)


def _loses_text(
    messages: Sequence[Message], native: dict[str, object], read_keys: set[str]
) -> bool:
    """Whether a message has text that differs from ``native`` under a key not read into parts."""
    excluded = (
        _KEYS_WITHOUT_TEXT
        | read_keys
        | ({location_of(part) for message in messages for part in message.parts} - {"content"})
    )
    return any(
        key not in excluded
        and not is_private_key(key)
        and not is_same(value, native[key])
        and any(map(bool, strings(value)))
        for message in messages
        if message.is_object
        for key, value in message.extra.items()
    )


def with_name_in_text(message: Message) -> Message:
    """Return a user message with its name at the start of its text instead of under a key.

    Messages of other roles and messages with results stay unchanged.
    """
    native = message.extra
    name = native.get("name")
    if (
        message.role is not Role.USER
        or message.results
        or not isinstance(name, str)
        or not name.strip()
    ):
        return message
    if any(isinstance(part, Text) and part.text.startswith(SYSTEM_NOTE) for part in message.parts):
        return message  # a converted system message, not from a user
    nameless = replace(
        message, native={key: value for key, value in native.items() if key != "name"}
    )
    for at, part in enumerate(message.parts):
        if isinstance(part, Text):
            named = replace(part, text=f"{name}: {part.text}")
            return nameless.with_parts((*message.parts[:at], named, *message.parts[at + 1 :]))
    return nameless.with_parts((Text(f"{name}:"), *message.parts))


def text_of(parts: Sequence[Part]) -> str | None:
    """Return the texts of parts with blank lines between; None if a part is not a text."""
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) < len(parts):
        return None
    return "\n\n".join(part.text for part in texts if part.text)


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Join plain strings into one text with blank lines between; parts of lists stay separate."""
    are_strings = all(not isinstance(part, Text) or not part.is_object for part in parts)
    kinds = {type(part) for part in parts if location_of(part) == "content"}
    if not are_strings or kinds != {Text}:
        return list(parts)
    texts = [part.text for part in parts if isinstance(part, Text) and part.text]
    return [*(part for part in parts if isinstance(part, Thinking)), Text("\n\n".join(texts))]
