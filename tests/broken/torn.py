"""Randomly damaged transcripts: values are deleted, replaced, swapped and copied at any position.

The mutations break what people break; these break what nobody thought of.
"""

from __future__ import annotations

import contextlib
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any

from .generate import broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Spot = tuple[Any, Any]
    """A dict or a list, and a key or a place in it."""

JUNK: tuple[Any, ...] = (
    None, "", 0, 1.5, True, [], {}, "x", " ", "\ud83d", [[]], [None], {"type": "text"}, {"a": 1}, "tool", "user",
    "assistant", "system", "tool_use", "tool_result", "function_call",
)  # fmt: skip
LONGEST = 8
"""How many messages of a conversation are kept."""


def torn(seed: int, dialect: str) -> list[Any]:
    """A few messages of the valid conversation with this seed, torn in one to six places."""
    rng = Random(f"torn:{dialect}:{seed}")
    messages = broken(seed, dialect, [])
    first = rng.randint(0, max(0, len(messages) - LONGEST))
    return tear(messages[first : first + LONGEST], rng, rng.randint(1, 6))


def tear(messages: list[Any], rng: Random, times: int) -> list[Any]:
    """A copy of messages, torn in some places."""
    out = deepcopy(messages)
    for _ in range(times):
        if spots := list(_spots(out)):
            with contextlib.suppress(KeyError, IndexError):  # another tear took the spot away
                rng.choice(TEARS)(rng, rng.choice(spots), rng.choice(spots))
    return out


def _spots(value: Any) -> Iterator[Spot]:
    places = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for place in places:
        yield value, place
        yield from _spots(value[place])


def _delete(rng: Random, spot: Spot, other: Spot) -> None:
    del spot[0][spot[1]]


def _junk(rng: Random, spot: Spot, other: Spot) -> None:
    spot[0][spot[1]] = deepcopy(rng.choice(JUNK))


def _copy(rng: Random, spot: Spot, other: Spot) -> None:
    spot[0][spot[1]] = deepcopy(other[0][other[1]])


def _swap(rng: Random, spot: Spot, other: Spot) -> None:
    mine, theirs = deepcopy(spot[0][spot[1]]), deepcopy(other[0][other[1]])
    spot[0][spot[1]], other[0][other[1]] = theirs, mine


def _again(rng: Random, spot: Spot, other: Spot) -> None:
    if isinstance(spot[0], list):
        spot[0].insert(spot[1], deepcopy(spot[0][spot[1]]))


def _lend(rng: Random, spot: Spot, other: Spot) -> None:
    if isinstance(spot[0], dict) and isinstance(other[0], dict):
        spot[0][other[1]] = deepcopy(other[0][other[1]])


def _wrap(rng: Random, spot: Spot, other: Spot) -> None:
    kind = rng.choice([None, "text", "tool_use", "tool_result", "image", "thinking"])
    held = spot[0][spot[1]]
    spot[0][spot[1]] = [held] if kind is None else {"type": kind, "content": held}


TEARS: tuple[Callable[[Random, Spot, Spot], None], ...] = (
    _delete,
    _junk,
    _copy,
    _swap,
    _again,
    _lend,
    _wrap,
)
