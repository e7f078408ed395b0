"""The limit for the nesting depth of JSON, the same for all commands and parsers."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 1024
"""Levels of nesting that are read, which is the limit of orjson."""
_FRAMES = 10_000
"""A recursion limit that is sufficient for values of this depth."""


@contextmanager
def deep_values() -> Iterator[None]:
    """Raise the recursion limit so that values of ``MAX_DEPTH`` can be processed."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def exceeds_max_depth(value: object, text: str) -> bool:
    """Whether a value, parsed from ``text``, is nested deeper than ``MAX_DEPTH``."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
    return depth > MAX_DEPTH
