"""Plain chats: texts, calls and results, nothing unusual. Those that differ only in words are judged alike.

What no target asks about is left out of a chat's shape: words, tool arguments that are an object, the letters of ids.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import orjson

from chatmend.jsontext import is_sound
from chatmend.placeholders import CONTINUED, NO_RESULT

if TYPE_CHECKING:
    from chatmend.cli.conversation import Visit

Shape: TypeAlias = tuple[object, ...]
"""What counts in a plain chat: how it is stored, who spoke when, which result is of which call, how ids are spelled."""

_ROLES = frozenset({"assistant", "developer", "system", "user"})
_OURS = frozenset({CONTINUED, NO_RESULT})
"""Words that chatmend may have put there itself: they count."""
_NAME = re.compile("[A-Za-z0-9_-]{1,64}").fullmatch
_ID = re.compile("[A-Za-z0-9_-]{5,128}").fullmatch
"""Ids as most are; a shorter one may be a word that a template reads otherwise, such as ``null``."""
_LONGEST = 32
"""Messages up to which the fixed cost of judging a chat is worth saving."""
_MOST = 4096
"""Shapes to remember."""
_TRIED = 256
"""Chats after which it shows whether shapes return."""
_DEEP = 50
"""Levels of nesting that every target reads, in tool arguments."""
_ANSWERED = -1


def shape(value: object) -> Shape | None:
    """The shape of a list of messages, or of an object with one and nothing beside it; None if it is no plain chat.

    A text is plain with letters at both ends: whether it is empty, or ends with white space, does count.
    """
    stored = "list"
    if isinstance(value, dict):
        if len(value) != 1:
            return None
        stored, value = "object", value.get("messages")
    if not isinstance(value, list) or not 0 < len(value) <= _LONGEST:
        return None
    seen: list[object] = [stored]
    calls: dict[object, int] = {}
    for message in value:
        if message.__class__ is not dict or "content" not in message:
            return None
        role, text = message.get("role"), message.get("content")
        if len(message) == 2 and role.__class__ is str and role in _ROLES:  # noqa: PLR2004 - role and content
            seen.append(role)
        elif len(message) != 3 or not _sees(message, role, seen, calls):  # noqa: PLR2004 - and calls, or an id
            return None
        elif not text and "tool_calls" in message and (text is None or text.__class__ is str):
            seen.append(text)
            continue
        if text.__class__ is not str or not text or text in _OURS or text != text.strip() or not is_sound(text):
            return None
    return tuple(seen)


def _sees(message: dict[str, object], role: object, seen: list[object], calls: dict[object, int]) -> bool:
    """Note an assistant's calls, or the result of one that has none yet; whether they are plain."""
    if role == "tool":
        known = message.get("tool_call_id")
        made_at = calls.get(known, _ANSWERED) if isinstance(known, str) else _ANSWERED
        seen += ("tool", made_at)
        calls[known] = _ANSWERED
        return made_at != _ANSWERED
    made = message.get("tool_calls")
    if role != "assistant" or not isinstance(made, list) or not made:
        return False
    seen.append("calls")
    return all(_sees_call(call, seen, calls) for call in made)


def _sees_call(call: object, seen: list[object], calls: dict[object, int]) -> bool:
    if not isinstance(call, dict) or len(call) != 3 or call.get("type") != "function":  # noqa: PLR2004 - and id, function
        return False
    said, known = call.get("function"), call.get("id")
    if not isinstance(said, dict) or len(said) != 2 or not isinstance(known, str) or not _ID(known):  # noqa: PLR2004
        return False
    name = said.get("name")
    if not isinstance(name, str) or not _NAME(name) or not _is_plain_object(said.get("arguments")):
        return False
    place = len(seen)
    seen += (name, len(known), known.isalnum())
    return calls.setdefault(known, place) == place


def _is_plain_object(text: object) -> bool:
    """Whether tool arguments are an object that every target can read."""
    if not isinstance(text, str) or "\\u" in text or text.count("{") + text.count("[") > _DEEP:
        return False
    try:
        return orjson.loads(text).__class__ is dict
    except orjson.JSONDecodeError:
        return False


class Known:
    """What was found in plain chats, by their shape."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._found: dict[Shape, Visit] = {}
        self._asked = self._met = 0

    def shape(self, value: object) -> Shape | None:
        """The shape of a chat; None also where hardly any shape returns, so that looking for it only costs."""
        if self._asked >= _TRIED and self._met * 4 < self._asked:
            return None
        self._asked += 1
        return shape(value)

    def get(self, key: Shape) -> Visit | None:
        """What was found in a chat of this shape; None if none was judged."""
        found = self._found.get(key)
        self._met += found is not None
        return found

    def put(self, key: Shape, found: Visit) -> None:
        """Remember what was found in a chat of this shape."""
        if len(self._found) >= _MOST:
            self._found.clear()
        self._found[key] = found
