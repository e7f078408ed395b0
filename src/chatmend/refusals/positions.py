"""Finds the messages that a provider's error text names: by position or by an id.

Servers that validate with pydantic (Mistral, vLLM, gateways) name a position as a list:
``"loc": ["body", "messages", 1, "assistant", "name"]``. ``with_paths`` also writes it as a path.
"""

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
_LOCATION = re.compile(
    r"""loc\\*["']\s*:\s*[\[(]((?:\s*(?:\d{1,7}|\\*["'][^"'\\]{1,200}["'\\]{1,4})\s*,?){1,30})"""
)
"""A position as a list, in JSON or as Python prints it."""
_STEP = re.compile(r"""\d+|[^"'\\\s,][^"'\\]*""")
_CAUSE = re.compile(r"""[\])]\s*,\s*\\*["']msg\\*["']\s*:\s*\\*["']([^"'\\]{1,200})""")
_ID = re.compile(r"\b(?:toolu|srvtoolu|call|tooluse|fc|rs|msg)_(?!ids?\b)[\w-]{2,}")
"""Ids with the prefixes of providers."""


def positions_named(messages: Iterable[object], text: str) -> list[int]:
    """Return the indices that a text names and that the messages have, in order."""
    count = sum(1 for _ in messages)
    return [index for index in positions_in(text) if index < count]


def positions_in(text: str) -> list[int]:
    """Return the indices that a text names, as ``messages.1`` or ``input[3]``, in order."""
    return sorted({int(position) for position in _POSITION.findall(with_paths(text))})


def with_paths(text: str) -> str:
    """Return a text followed by a line for each position that it names as a list.

    The line has the form of Anthropic's errors: ``messages.1.assistant.name: Field required``.
    """
    lines: dict[str, None] = {}
    for found in _LOCATION.finditer(text):
        steps = _STEP.findall(found.group(1))
        path = ".".join(steps[1:] if steps[:1] == ["body"] else steps)
        cause = _CAUSE.match(text, found.end())
        lines[f"{path}: {cause.group(1)}" if cause else path] = None
    return "\n".join([text, *(line for line in lines if line not in text)])


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
