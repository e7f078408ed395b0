"""Joins the changes of several passes, which some policies need.

If a policy forbids some repairs, the rules after a forbidden repair cannot rely on it. If a policy
drops duplicates, two messages may be equal only after a repair. So the passes are repeated until
nothing changes, and their changes are joined into one list, which can be replayed as a whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.changes import Change

MAX_PASSES = 8
"""The maximum number of passes; a second pass is rarely needed, and each makes progress."""


def join_changes(
    original: list[Any], first: tuple[Change, ...], repaired: list[Any], more: Iterable[Change]
) -> tuple[Change, ...]:
    """Join the changes of all passes so far with those of the next one.

    Args:
        original: the original transcript; ``Change.index`` refers to it.
        first: the changes so far.
        repaired: the transcript after these changes: the input of the next pass.
        more: the changes of the next pass; its findings are left out, as the first pass has them.
    """
    indexes = {id(message): at for at, message in enumerate(original)}
    origins: list[int | None] = []
    for message in repaired:
        origins.append(indexes.get(id(message), origins[-1] if origins else None))
    return (*first, *(_with_original_index(change, origins) for change in _absolute(more)))


def _with_original_index(change: Change, origins: list[int | None]) -> Change:
    if change.index is None or not origins:
        return change
    return replace(change, index=origins[min(change.index, len(origins) - 1)] or 0)


def _absolute(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the applied changes with positions in the whole list instead of in a window."""
    shift, inside, window = 0, 0, None
    for change in changes:
        if not change.applied:
            continue
        if change.where != "messages":
            yield change
        elif change.window is None:  # the position is in the whole list already
            yield replace(change, at=max(change.at, 0))
        else:
            if change.window != window:
                shift, inside, window = shift + inside, 0, change.window
            yield replace(change, window=None, at=change.window[0] + shift + change.at)
            inside += len(change.after) - len(change.before)
