"""Examples of repaired and quarantined rows for the report of a run.

The first few rows of each kind are kept, so every run selects the same, with any number of
processes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.cli.data_counts import general_reason
from chatmend.data.rows import QUARANTINED
from chatmend.inspect.redaction import redacted
from chatmend.report import line
from chatmend.report.comparison import short_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.data.rows import RowResult

CONTENTS = ("texts", "lengths")
"""What examples contain: shortened texts, or only their lengths."""
_MAX_EXAMPLES = 3
"""Examples of each kind of change, and of each reason for a quarantine."""
_MAX_KINDS = 100
Kind: TypeAlias = tuple[str, str]
"""The code of a rule and its effect; or an empty text and the reason for a quarantine."""


@dataclass(frozen=True, slots=True)
class Example:
    """One change or quarantined row, in shortened lines."""

    file: str
    row: int
    text: str
    before: list[str]
    after: list[str]


@dataclass(slots=True)
class Examples:
    """The first examples of each kind."""

    content: str = ""
    """One of ``CONTENTS``; empty if no examples are collected."""
    kinds: dict[Kind, list[Example]] = field(default_factory=dict)

    def add(self, file: str, row: int, result: RowResult) -> None:
        """Keep the changes of a repaired row, or a quarantined row, if examples are missing."""
        if result.status == QUARANTINED:
            kind = ("", general_reason(result.error or ""))
            if self._is_wanted(kind):
                text, before = result.error or "", self._lines([result.row])
                self._keep(kind, Example(file, row, text, before, []))
            return
        for change in result.changes:
            kind = (change.code, change.effect.name.lower())
            if self._is_wanted(kind):
                sides = (self._lines(change.before), self._lines(change.after))
                self._keep(kind, Example(file, row, line(change), *sides))

    def _is_wanted(self, kind: Kind) -> bool:
        if kind not in self.kinds:
            return len(self.kinds) < _MAX_KINDS
        return len(self.kinds[kind]) < _MAX_EXAMPLES

    def _keep(self, kind: Kind, example: Example) -> None:
        self.kinds.setdefault(kind, []).append(example)

    def _lines(self, natives: Sequence[Any]) -> list[str]:
        return short_lines(natives if self.content == "texts" else list(map(redacted, natives)))

    def merge(self, other: Examples) -> None:
        """Add the examples of later rows."""
        for kind, examples in other.kinds.items():
            for example in examples:
                if self._is_wanted(kind):
                    self._keep(kind, example)

    def to_json(self) -> dict[str, Any]:
        """Return the examples as a JSON value."""
        kinds = [[*kind, list(map(asdict, found))] for kind, found in self.kinds.items()]
        return {"content": self.content, "kinds": kinds}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Examples:
        """Return the examples that ``to_json`` has returned."""
        kinds = {
            (code, name): [Example(**example) for example in found]
            for code, name, found in value["kinds"]
        }
        return cls(value["content"], kinds)
