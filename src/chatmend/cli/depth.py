"""How deep JSON may be nested: the same for each command, though the parsers that they use differ."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 1024
"""Levels of nesting that are read: as many as orjson reads."""
_FRAMES = 10_000
"""Calls on top of each other that such values need at most, with room to spare."""


@contextmanager
def deep_values() -> Iterator[None]:
    """Inside, values of that depth are parsed, judged and written without an end of recursion."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def is_too_deep(value: object, text: str) -> bool:
    """Whether a value, and so the JSON text that it was read from, is nested deeper."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
    return depth > DEEPEST
