"""Counts what a function does in steps of the interpreter: they are the same on every machine and every day."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_OURS = str(Path(chatmend.__file__).parent)
LENGTHS = (10, 40, 160)
"""A transcript of each of these lengths is repaired: n and 4n, and one before them for what does not grow."""
_LONGEST = 16 * LENGTHS[-1]
"""Where what has seemed to grow at each length before is taken to grow."""
_STEEPER = 1.15
"""By how much the cost of one more message may seem to grow, because some work begins at a certain length only."""


def steps(work: Callable[[], object]) -> int:
    """Return how many lines of our source are executed; each turn of a comprehension or a generator is one.

    Work inside a function that is written in C is not counted: ``benchmarks.bench_shapes`` measures that in time.
    """
    count = 0

    def on_line(_frame: FrameType, _event: str, _: object) -> object:
        nonlocal count
        count += 1
        return on_line

    def on_call(frame: FrameType, _event: str, _: object) -> object:
        return on_line if frame.f_code.co_filename.startswith(_OURS) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def steep(prepare: Callable[[int], Callable[[], object]]) -> str:
    """Say how the steps of a work of a length grow faster than the length; empty where they do not.

    What one more message costs is compared between short and long transcripts. Some work begins at a certain length
    (a limit is passed, a recursion too deep), so what seems to grow is looked at again at greater lengths.
    """
    prepare(LENGTHS[0])()  # what is cached is made here
    counted = {length: steps(prepare(length)) for length in LENGTHS}
    lengths = list(LENGTHS)
    while _is_steep(counted, *lengths[-3:]):
        if lengths[-1] >= _LONGEST:
            return f"steps by length: {counted}"
        lengths.append(4 * lengths[-1])
        counted[lengths[-1]] = steps(prepare(lengths[-1]))
    return ""


def _is_steep(counted: dict[int, int], short: int, middle: int, long: int) -> bool:
    early = (counted[middle] - counted[short]) / (middle - short)
    late = (counted[long] - counted[middle]) / (long - middle)
    return late > _STEEPER * max(early, 1)
