"""The view of a transcript: messages with their parts, exchanges and marks, ready for JSON."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.dialects.pictures import find_picture
from chatmend.inspect.shortening import short_text
from chatmend.jsontext import dumps, equality_key
from chatmend.transcript import Media, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.dialects import Dialect
    from chatmend.inspect.thumbnails import Thumbnails
    from chatmend.targets import Target
    from chatmend.transcript import Part

_MOST_MESSAGES = 2_000
"""Messages that are displayed; the page says how many there are."""
_LONGEST_TEXT = 1_500
_CACHE_KEYS = ("cache_control", "cachePoint", "cache_point")


@dataclass(slots=True)
class _Exchanges:
    """Matches results to calls by id, in order; a result without a call stays alone."""

    waiting: dict[str, deque[int]] = field(default_factory=dict)
    count: int = 0

    def call(self, part: ToolCall) -> int:
        """Return the number of a new exchange."""
        self.count += 1
        self.waiting.setdefault(equality_key(part.id), deque()).append(self.count)
        return self.count

    def result(self, part: ToolResult) -> int | None:
        """Return the exchange of a result; None if no call with its id waits for one."""
        found = self.waiting.get(equality_key(part.call_id))
        return found.popleft() if found else None


def view(
    messages: Sequence[object], dialect: Dialect, target: Target, thumbnails: Thumbnails
) -> list[dict[str, Any]]:
    """Return the messages for display, at most 2,000.

    Args:
        messages: the messages in their wire format.
        dialect: the wire format.
        target: the target whose way of counting the tokens of images applies.
        thumbnails: describes and draws images.
    """
    exchanges = _Exchanges()
    return [
        _message(index, native, dialect, exchanges, (target, thumbnails))
        for index, native in enumerate(messages[:_MOST_MESSAGES])
    ]


def _message(
    index: int,
    native: object,
    dialect: Dialect,
    exchanges: _Exchanges,
    images: tuple[Target, Thumbnails],
) -> dict[str, Any]:
    message = dialect.read(native)
    parts = [shown for part in message.parts for shown in _parts(part, exchanges, images)]
    return {
        "index": index,
        "role": str(message.native_role or message.kind or message.role),
        "side": str(message.role),
        "parts": parts,
        "signed": any(isinstance(p, Thinking) and p.signature for p in message.parts),
        "cached": _has_cache_marker(native),
    }


def _parts(
    part: Part, exchanges: _Exchanges, images: tuple[Target, Thumbnails]
) -> Iterator[dict[str, Any]]:
    match part:
        case Text():
            yield {"kind": "text", "text": short_text(part.text, _LONGEST_TEXT)}
        case Thinking():
            text = "(encrypted)" if part.redacted else part.text
            yield {
                "kind": "thinking",
                "text": short_text(text, _LONGEST_TEXT),
                "signed": bool(part.signature),
            }
        case ToolCall():
            yield {
                "kind": "call",
                "name": _name(part.name),
                "id": _name(part.id),
                "text": short_text(_as_text(part.arguments), _LONGEST_TEXT),
                "exchange": exchanges.call(part),
            }
        case ToolResult():
            texts = [inner.text for inner in part.content if isinstance(inner, Text)]
            yield {
                "kind": "result",
                "name": _name(part.name),
                "id": _name(part.call_id),
                "text": short_text("\n".join(texts), _LONGEST_TEXT),
                "exchange": exchanges.result(part),
            }
            for inner in part.content:
                if not isinstance(inner, Text):
                    yield from _parts(inner, exchanges, images)
        case Media():
            yield _media(part, images)
        case _:
            yield {"kind": "other", "text": short_text(_as_text(part.native), _LONGEST_TEXT)}


def _media(part: Media, images: tuple[Target, Thumbnails]) -> dict[str, Any]:
    picture = find_picture(part.native) if part.kind == "image" else None
    if picture is None or picture.payload is None:
        return {"kind": "other", "text": short_text(_as_text(part.native), _LONGEST_TEXT // 3)}
    target, thumbnails = images
    return {"kind": "image", **thumbnails.describe(picture.payload, target, picture.detail)}


def _name(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _has_cache_marker(native: object) -> bool:
    stack, steps = [native], 0
    while stack and steps < _LONGEST_TEXT:
        item = stack.pop()
        steps += 1
        if isinstance(item, dict):
            if any(item.get(key) for key in _CACHE_KEYS):
                return True
            stack += [value for value in item.values() if isinstance(value, dict | list)]
        elif isinstance(item, list):
            stack += item
    return False
