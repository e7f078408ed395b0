"""The account of a repair: lines for people, a table for notebooks, JSON for machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chatmend.report.lines import is_left, line
from chatmend.report.machine import VERSION, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmend.changes import Change


class Reported:
    """Something with ``changes`` that can tell of them."""

    __slots__ = ()
    changes: tuple[Change, ...]

    def report(self) -> str:
        """The account for people: a summary, then one line a change, without any content of the transcript."""
        return report(self.changes)

    def to_json(self, *, content: bool = True) -> str:
        """The account for machines: one JSON text with a schema and a version, see docs/report.md.

        Args:
            content: whether the messages before and after each change are told, too.
        """
        return to_json(self.changes, content=content)

    def _repr_html_(self) -> str:
        """The account for notebooks: a table with before and after side by side, all content escaped."""
        from chatmend.report.notebook import html  # noqa: PLC0415 - `import chatmend` stays fast

        return html(self.changes, summary(self.changes))


def report(changes: Iterable[Change]) -> str:
    """A summary, then one line a change: where, code, rule, effect, reason, deed."""
    known = tuple(changes)
    return "\n".join([summary(known), *map(line, known)])


def summary(changes: Sequence[Change]) -> str:
    """How many changes there are, of which effects: ``2 changes: 1 reshapes, 1 degrades``."""
    if not changes:
        return "nothing to repair"
    made = [change for change in changes if change.applied]
    parts = [_counted(made, "change"), _counted([c for c in changes if not c.applied and not is_left(c)], "finding")]
    left = sum(map(is_left, changes))
    parts.append(f"{left} left as {'it is' if left == 1 else 'they are'}" if left else "")
    return "; ".join(part for part in parts if part)


def _counted(changes: Sequence[Change], noun: str) -> str:
    if not changes:
        return ""
    effects = Counter(change.effect for change in sorted(changes, key=lambda change: change.effect))
    told = ", ".join(f"{count} {effect.name.lower()}" for effect, count in effects.items())
    return f"{len(changes)} {noun}{'' if len(changes) == 1 else 's'}: {told}"


__all__ = ["VERSION", "Reported", "html", "is_left", "line", "report", "summary", "to_json"]
