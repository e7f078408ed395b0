"""Counts of the rows of a data set: by outcome, by rule and by the reason for a quarantine."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.data.rows import QUARANTINED, STATUSES

if TYPE_CHECKING:
    from chatmend.data.rows import RowResult

_NUMBER = re.compile(r"\d+")
_MAX_REASONS = 100
"""How many different reasons are counted separately."""
RuleKey: TypeAlias = tuple[str, str, str]
"""The code, the name and the effect of a rule."""


def general_reason(reason: str) -> str:
    """Return the reason for a quarantine without positions, so that equal ones are counted."""
    return _NUMBER.sub("N", reason)


@dataclass(slots=True)
class Counts:
    """What was found in some rows."""

    rows: Counter[str] = field(default_factory=Counter)
    """The number of rows by status."""
    rules: Counter[RuleKey] = field(default_factory=Counter)
    """The number of changes in repaired rows, by rule and effect."""
    reasons: Counter[str] = field(default_factory=Counter)
    """The number of quarantined rows by reason; positions in the reasons are left out."""

    @property
    def total(self) -> int:
        """The number of rows."""
        return self.rows.total()

    def add(self, result: RowResult) -> None:
        """Count a row."""
        self.rows[result.status] += 1
        if result.status == QUARANTINED:
            self.add_reason(result.error or "")
        else:
            for change in result.changes:
                self.rules[change.code, change.rule, change.effect.name.lower()] += 1

    def add_reason(self, reason: str) -> None:
        """Count the reason for a quarantine."""
        text = general_reason(reason)
        self.reasons[text if len(self.reasons) < _MAX_REASONS else "other reasons"] += 1

    def merge(self, other: Counts) -> None:
        """Add the counts of other rows."""
        self.rows += other.rows
        self.rules += other.rules
        self.reasons += other.reasons

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON value."""
        return {
            "rows": {status: self.rows[status] for status in STATUSES},
            "rules": [[*key, number] for key, number in sorted(self.rules.items())],
            "reasons": dict(sorted(self.reasons.items())),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Counts:
        """Return the counts that ``to_json`` has returned."""
        return cls(
            Counter(value["rows"]),
            Counter({(code, name, effect): n for code, name, effect, n in value["rules"]}),
            Counter(value["reasons"]),
        )
