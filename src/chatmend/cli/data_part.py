"""A part of a file, the repair of its rows, and what is collected about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.cli.data_counts import Counts
from chatmend.cli.data_examples import Examples
from chatmend.data.change_table import Origin, changes_to_table, recorded_rows
from chatmend.data.replaying import replay_row
from chatmend.data.rows import VALID, RowResult, RowSettings, repair_row
from chatmend.errors import ReplayError

if TYPE_CHECKING:
    from chatmend.data.formats import Format
    from chatmend.data.rows import Row


@dataclass(frozen=True, slots=True)
class Task:
    """The options of a run, for all files; can be pickled."""

    settings: RowSettings | None
    """None if recorded changes are replayed."""
    column: str | None = None
    layout: str | None = None
    records_changes: bool = False
    examples: str = ""
    """What the examples of a report contain: ``texts``, ``lengths``, or nothing without one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk of a file; can be pickled."""

    chunk: Any
    first_row: int = 0
    """The number of its first row in the file."""
    origin: Origin = field(default_factory=Origin)
    recorded: Any = None
    """The changes to replay, as a table."""


@dataclass(slots=True)
class Outcome:
    """The repaired rows of a part and the quarantined ones, in the form that the writer takes."""

    good: Any
    bad: Any
    counts: Counts = field(default_factory=Counts)
    examples: Examples = field(default_factory=Examples)
    changes: Any = None
    """The table of changes, if they are recorded."""


class PartRepair:
    """Repairs the rows of a part, or replays their changes, and collects what a run reports."""

    def __init__(self, part: Part, layout: Format, task: Task) -> None:
        """Start without results."""
        self._part, self._layout, self._task = part, layout, task
        recorded = part.recorded
        self._recorded = {} if recorded is None else recorded_rows(recorded)
        self._results: list[tuple[int, RowResult]] = []
        self.counts = Counts()
        self._examples = Examples(task.examples)

    def repair(self, row: Row, at: int, *, has_nulls: bool = True) -> RowResult:
        """Return the outcome for the row with this position in the part.

        ``has_nulls``: whether keys that are absent may be null.

        Raises:
            ReplayError: the recorded changes do not match the row.
        """
        settings = self._task.settings
        if settings is not None:
            return repair_row(row, self._layout, settings, has_nulls=has_nulls)
        number = self._part.first_row + at
        try:
            return replay_row(row, self._layout, self._recorded.get(number), has_nulls=has_nulls)
        except ReplayError as error:
            raise ReplayError(f"row {number}: {error}") from error

    def add(self, result: RowResult, at: int) -> None:
        """Collect an outcome."""
        self.counts.add(result)
        if result.status == VALID:
            return
        number = self._part.first_row + at
        if self._task.records_changes:
            self._results.append((number, result))
        if self._task.examples:
            self._examples.add(self._part.origin.file, number, result)

    def finish(self, outcome: Outcome) -> Outcome:
        """Return the outcome with everything that was collected."""
        outcome.counts, outcome.examples = self.counts, self._examples
        if self._task.records_changes:
            outcome.changes = changes_to_table(self._results, self._part.origin)
        return outcome
