"""Makes one message of several of the same role: every part, in order, strings and lists mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.placeholders import CALL_NOTE
from chatmend.transcript import Message, Part, Text, Thinking, ToolCall, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge(messages: Sequence[Message]) -> Message:
    """One message with the content of all; calls last. Keys of the first win over those of later ones."""
    native: dict[str, object] = {}
    for message in reversed(messages):
        native |= message.native if isinstance(message.native, dict) else {}
    parts = [part for message in messages for part in message.parts]
    said = [part for part in parts if not isinstance(part, ToolCall)]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    old = [call for call in calls if call.legacy]
    said += [Text(CALL_NOTE + jsontext.dumps(call.native)) for call in old[:-1]]  # a message has place for one
    calls = [call for call in calls if not any(call is other for other in old[:-1])]
    written = (
        "tool_calls",
        "thinking_blocks",
        *(("content", "parts") if parts else ()),
    )  # what is empty stays as it is
    body = {k: v for k, v in native.items() if k not in written}
    return replace(messages[0], parts=(*join_texts(said), *calls), native=body)


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Plain strings that meet become one, with a blank line between; parts of lists stay parts."""
    plain = all(not isinstance(part, Text) or not isinstance(part.native, dict) for part in parts)
    kinds = {type(part) for part in parts if place_of(part) == "content"}
    if not plain or kinds != {Text}:
        return list(parts)
    words = [part.text for part in parts if isinstance(part, Text) and part.text]
    return [*(part for part in parts if isinstance(part, Thinking)), Text("\n\n".join(words))]
