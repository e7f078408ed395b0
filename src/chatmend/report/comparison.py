"""Compares messages before and after a change, line by line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, repeat
from typing import TYPE_CHECKING

from chatmend import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmend.transcript import Native

_MAX_LINES, _MAX_CHARACTERS = 40, 400
"""Limits of a comparison: lines per side, characters per line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one side."""

    text: str
    mark: str = ""
    """``-`` for a removed line, ``+`` for an added one."""
    start: int = 0
    """Start of the part that differs from the line on the other side."""
    stop: int = 0

    def parts(self) -> tuple[str, str, str]:
        """Return the text before, in and after the part that differs."""
        start, stop = self.start, self.stop
        return self.text[:start], self.text[start:stop], self.text[stop:]


def compare(old: Sequence[str], new: Sequence[str]) -> tuple[list[Line], list[Line]]:
    """Return the lines of both sides, with marks."""
    left, right = list[Line](), list[Line]()
    for tag, start, stop, to_start, to_stop in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        removed, added = old[start:stop], new[to_start:to_stop]
        marks = ("", "") if tag == "equal" else ("-", "+")
        left += map(_line, removed, repeat(marks[0]), chain(added, repeat("")))
        right += map(_line, added, repeat(marks[1]), chain(removed, repeat("")))
    return left, right


def short_lines(natives: Iterable[Native]) -> list[str]:
    """Return messages as lines of JSON; long lines and many lines are cut."""
    every = [line for native in natives for line in _json_lines(native)]
    cut = [
        line
        if len(line) <= _MAX_CHARACTERS
        else f"{line[:_MAX_CHARACTERS]} … ({len(line):,} characters)"
        for line in every[:_MAX_LINES]
    ]
    return (
        cut if len(every) <= _MAX_LINES else [*cut, f"… ({len(every) - _MAX_LINES:,} more lines)"]
    )


def _line(text: str, mark: str, other: str) -> Line:
    if not mark or not other:
        return Line(text, mark)
    return Line(text, mark, *_differing_part(text, other))


def _differing_part(line: str, other: str) -> tuple[int, int]:
    """Return the start and stop of the part in which a line differs from another.

    Returns an empty range if the part is longer than half of the line.
    """
    start = _common_prefix_length(line, other)
    stop = len(line) - _common_prefix_length(line[start:][::-1], other[start:][::-1])
    return (start, stop) if 0 < 2 * (stop - start) <= len(line) else (0, 0)


def _common_prefix_length(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def _json_lines(native: Native) -> list[str]:
    if hasattr(native, "model_dump"):
        native = {
            key: value for key, value in native.model_dump().items() if value not in (None, {}, [])
        }
    try:
        return json.dumps(native, ensure_ascii=False, indent=2, default=repr).split("\n")
    except (RecursionError, TypeError, ValueError):
        return [jsontext.dumps(native)]
