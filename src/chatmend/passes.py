"""Later passes: under a policy that forbids some repairs, or drops repeats, one pass may leave work for the next.

What a rule may not do, the rules behind it cannot count on; and two messages may be equal only once they are repaired.
So the passes go on until nothing changes, and their changes are joined to one account, which replays as one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.changes import Change

MOST = 8
"""Passes at most: each one that is needed settles something for good, and two are rarely needed."""


def joined(given: list[Any], first: tuple[Change, ...], came: list[Any], more: Iterable[Change]) -> tuple[Change, ...]:
    """The account of a pass, with what the next one did.

    Args:
        given: the transcript as it came in, in which every change is counted.
        first: the changes so far.
        came: what they made of it: the input of the next pass.
        more: what that pass did. What it only saw, the first has told.
    """
    places = {id(message): at for at, message in enumerate(given)}
    origins: list[int | None] = []
    for message in came:
        origins.append(places.get(id(message), origins[-1] if origins else None))
    return (*first, *(_counted(change, origins) for change in _absolute(more)))


def _counted(change: Change, origins: list[int | None]) -> Change:
    if change.index is None or not origins:
        return change
    return replace(change, index=origins[min(change.index, len(origins) - 1)] or 0)


def _absolute(changes: Iterable[Change]) -> Iterator[Change]:
    """The changes as splices of the whole list, one after the other."""
    shift, inside, window = 0, 0, None
    for change in changes:
        if not change.applied:
            continue
        if change.where != "messages":
            yield change
        elif change.window is None:  # of the whole request: counted so already
            yield replace(change, at=max(change.at, 0))
        else:
            if change.window != window:
                shift, inside, window = shift + inside, 0, change.window
            yield replace(change, window=None, at=change.window[0] + shift + change.at)
            inside += len(change.after) - len(change.before)
