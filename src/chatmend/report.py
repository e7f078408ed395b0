"""The account of a repair for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change


def report(changes: Iterable[Change]) -> str:
    """One line a change: where, code, rule, effect, reason."""
    lines = [line(change) for change in changes]
    return "\n".join(lines) if lines else "nothing to repair"


def line(change: Change) -> str:
    """One change in one line, without any content of the transcript."""
    where = f"messages[{change.index}]" if change.where == "messages" and change.index is not None else change.where
    left = "" if change.applied else " (left as it is)"
    thinking = " [invalidates signed thinking]" if change.invalidates_thinking else ""
    return f"{where}: {change.code} {change.rule} {change.effect.name.lower()}: {change.why}{thinking}{left}"
