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
    r"(?:\.|\[|\s+(?:at\s+)?(?:index|position)\s+)(\d{1,7})\b"
)


def positions_named(messages: Iterable[object], text: str) -> list[int]:
    """Return the indices that a text names, as ``messages.1`` or ``input[3]``, in order."""
    count = sum(1 for _ in messages)
    found = (int(position) for position in _POSITION.findall(text))
    return sorted({index for index in found if index < count})


def ids_named(messages: Iterable[object], text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each id that a text contains, with the indices of the messages that contain it."""
    indices_by_id: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        for found in dict.fromkeys(_ids(message)):
            indices_by_id.setdefault(found, []).append(index)
    for found, indices in indices_by_id.items():
        if len(found) >= _MIN_ID_LENGTH and found in text:
            yield found, indices


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
