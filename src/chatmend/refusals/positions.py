"""Finds the messages that a provider's error text names: by position or by an id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ID_KEYS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id", "toolUseId"})
_MIN_ID_LENGTH = 2
"""Shorter ids are not searched, because they would match by accident."""
_POSITION = re.compile(
    r"(?i)\b(?:messages?|input|contents?|history|turns?)"
    r"(?:\.?\[|\.|\s+(?:at\s+)?(?:index|position)\s+)(\d{1,7})\b"
)
_ID = re.compile(r"\b(?:toolu|srvtoolu|call|tooluse|fc|rs|msg)_(?!ids?\b)[\w-]{2,}")
"""Ids with the prefixes of providers."""


def positions_named(messages: Iterable[object], text: str) -> list[int]:
    """Return the indices that a text names and that the messages have, in order."""
    count = sum(1 for _ in messages)
    return [index for index in positions_in(text) if index < count]


def positions_in(text: str) -> list[int]:
    """Return the indices that a text names, as ``messages.1`` or ``input[3]``, in order."""
    return sorted({int(position) for position in _POSITION.findall(text)})


def ids_in(text: str) -> list[str]:
    """Return the ids in a text that have a provider's prefix, as ``toolu_01`` or ``call_7``."""
    return list(dict.fromkeys(_ID.findall(text)))


def ids_absent(messages: Iterable[object], ids: Iterable[str]) -> list[str]:
    """Return the ids that no message contains; an id may be shortened at its end."""
    present = {found for message in messages for found in _ids(message)}
    return [wanted for wanted in ids if not any(found.startswith(wanted) for found in present)]


def ids_named(messages: Iterable[object], text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each id that a text contains, with the indices of the messages that contain it."""
    indices_by_id: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        for found in dict.fromkeys(_ids(message)):
            indices_by_id.setdefault(found, []).append(index)
    for found, indices in indices_by_id.items():
        if len(found) >= _MIN_ID_LENGTH and _contains(text, found):
            yield found, indices


def _contains(text: str, name: str) -> bool:
    """Return whether a text contains an id that is not a part of a longer one."""
    return name in text and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _ids(message: object) -> Iterator[str]:
    stack = [message]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from (
                value for key, value in item.items() if key in _ID_KEYS and isinstance(value, str)
            )
            stack += item.values()
        elif isinstance(item, list):
            stack += item
