"""Chats of nothing but plain texts. Two that differ only in their words are judged alike, so one of them is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from chatmend.placeholders import CONTINUED, NO_RESULT

if TYPE_CHECKING:
    from chatmend.cli.conversation import Visit

Shape: TypeAlias = tuple[str, ...]
"""What counts in a plain chat: how it is stored, and who spoke when."""

_ROLES = frozenset({"assistant", "developer", "system", "user"})
_OURS = frozenset({CONTINUED, NO_RESULT})
"""Words that chatmend may have put there itself: they count."""
_LONGEST = 64
"""Messages up to which the fixed cost of judging a chat is worth saving."""
_MOST = 4096
"""Shapes to remember."""


def shape(value: object) -> Shape | None:
    """The shape of a list of messages, or of an object with one and nothing beside it; None if it is no plain chat.

    Plain is a message of a role and a text, with letters at both ends: whether a text is empty, or ends with white
    space, does count.
    """
    stored = "list"
    if isinstance(value, dict):
        if len(value) != 1:
            return None
        stored, value = "object", value.get("messages")
    if not isinstance(value, list) or not 0 < len(value) <= _LONGEST:
        return None
    seen = [stored]
    for message in value:
        if message.__class__ is not dict or len(message) != 2:  # noqa: PLR2004 - role and content
            return None
        role, text = message.get("role"), message.get("content")
        if text.__class__ is not str or role.__class__ is not str or role not in _ROLES:
            return None
        if not text or text in _OURS or text != text.strip():
            return None
        seen.append(role)
    return tuple(seen)


class Known:
    """What was found in plain chats, by their shape."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._found: dict[Shape, Visit] = {}

    def get(self, key: Shape) -> Visit | None:
        """What was found in a chat of this shape; None if none was judged."""
        return self._found.get(key)

    def put(self, key: Shape, found: Visit) -> None:
        """Remember what was found in a chat of this shape."""
        if len(self._found) >= _MOST:
            self._found.clear()
        self._found[key] = found
