"""Reports of changes: lines for people, a table for notebooks, JSON for machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chatmend.hostile_values import without_hostile_values
from chatmend.report.lines import PARTICIPLES, is_left, line
from chatmend.report.machine import VERSION, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmend.changes import Change


class Reportable:
    """A mixin that adds reports to a class with ``changes``."""

    __slots__ = ()
    changes: tuple[Change, ...]

    def report(self) -> str:
        """Return a report for people: a summary, then one line per change.

        It contains no content of the transcript, so it can be logged.
        """
        return report(self.changes)

    def to_json(self, *, content: bool = True) -> str:
        """Return a report for machines: a JSON text with a versioned schema, see docs/report.md.

        Args:
            content: whether to include the messages before and after each change.
        """
        return to_json(self.changes, content=content)

    def _repr_html_(self) -> str:
        """Return a report for notebooks: an HTML table with before and after side by side.

        All content is escaped.
        """
        from chatmend.report.notebook import html  # noqa: PLC0415 - `import chatmend` stays fast

        try:
            return html(self.changes, summary(self.changes))
        except Exception:  # noqa: BLE001 - code of the caller
            changes = tuple(map(without_hostile_values, self.changes))
            return html(changes, summary(changes))


def report(changes: Iterable[Change]) -> str:
    """Return a summary, then one line per change; see ``line``."""
    listed = tuple(changes)
    return "\n".join([summary(listed), *map(line, listed)])


def summary(changes: Sequence[Change]) -> str:
    """Return the number of changes by effect: ``3 changes (2 reshaped, 1 dropped)``."""
    if not changes:
        return "nothing to repair"
    applied = [change for change in changes if change.applied]
    parts = [
        _count_by_effect(applied, "change"),
        _count_by_effect([c for c in changes if not c.applied and not is_left(c)], "finding"),
    ]
    left = sum(map(is_left, changes))
    parts.append(f"{left} {'defect' if left == 1 else 'defects'} left unchanged" if left else "")
    return "; ".join(part for part in parts if part)


def _count_by_effect(changes: Sequence[Change], noun: str) -> str:
    if not changes:
        return ""
    effects = Counter(change.effect for change in sorted(changes, key=lambda change: change.effect))
    counts = ", ".join(f"{count} {PARTICIPLES[effect]}" for effect, count in effects.items())
    return f"{len(changes)} {noun}{'' if len(changes) == 1 else 's'} ({counts})"


__all__ = ["VERSION", "Reportable", "html", "is_left", "line", "report", "summary", "to_json"]
