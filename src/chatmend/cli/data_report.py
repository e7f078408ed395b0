"""Shows the progress of a run over a data set and prints its summary."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from chatmend.cli.data_counts import Counts
from chatmend.cli.data_examples import Examples
from chatmend.cli.data_run import QUARANTINE
from chatmend.cli.terminal import EXIT_ERROR, EXIT_FINDINGS, count, print_line
from chatmend.data.rows import QUARANTINED, STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from chatmend.cli.data_run import DataFile, Summary

_MAX_REASONS = 10
"""How many reasons for a quarantine the summary lists."""


class DataReport:
    """Shows the progress of a run and prints its summary."""

    def __init__(self, console: Console, errors: Console, examples: str = "") -> None:
        """Start without counts; ``examples``: what the examples contain."""
        self.counts = Counts()
        self.examples = Examples(examples)
        self.files: dict[str, Counts] = {}
        """The counts of each file."""
        self.report: Path | None = None
        """The page that was written."""
        self.written = self.skipped = self.leftovers = self.errors = 0
        self._console, self._error_console = console, errors
        self._progress: Progress | None = None
        self._size = 0

    @contextmanager
    def progress(self, sources: list[DataFile]) -> Iterator[None]:
        """Show a progress bar, if standard error is a terminal."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            DownloadColumn(),
            TimeRemainingColumn(),
        )
        if not self._error_console.is_terminal:
            yield
            return
        with Progress(*columns, console=self._error_console, transient=True) as self._progress:
            self._progress.add_task("", total=sum(source.size for source in sources) or None)
            yield

    def start(self, source: DataFile) -> None:
        """Name the file that is being repaired."""
        self._size = source.size
        if self._progress:
            task = self._progress.task_ids[0]
            self._progress.update(task, description=source.relative_path.name)

    def advance(self, share: float) -> None:
        """Advance the progress bar by a share of the current file."""
        if self._progress:
            self._progress.advance(self._progress.task_ids[0], share * self._size)

    def add(self, source: DataFile, summary: Summary) -> None:
        """Add the rows of a file."""
        self.counts.merge(summary.counts)
        self.examples.merge(summary.examples)
        self.files[source.relative_path.as_posix()] = summary.counts

    def print_error(self, text: str) -> None:
        """Count and print an error."""
        self.errors += 1
        print_line(self._error_console, text, "red")

    def print_summary(self, out: Path) -> None:
        """Print the number of rows by outcome, rule and reason."""
        counts = self.counts
        for (code, rule, effect), number in sorted(counts.rules.items()):
            print_line(self._console, f"{number:>9,}  {code} {rule} ({effect})")
        if counts.reasons:
            print_line(self._console, f"Quarantined, in {out / QUARANTINE}:", "bold")
        for reason, number in counts.reasons.most_common(_MAX_REASONS):
            print_line(self._console, f"{number:>9,}  {reason}", "yellow")
        rows = ", ".join(f"{counts.rows[status]:,} {status}" for status in STATUSES)
        parts = [
            f"{count(counts.total, 'row')}: {rows}",
            f"{count(self.written, 'file')} written",
            f"{count(self.skipped, 'file')} already complete" if self.skipped else "",
            f"{count(self.leftovers, 'temporary file')} of a killed run removed"
            if self.leftovers
            else "",
            f"{count(self.errors, 'error')}, see above" if self.errors else "",
            f"report in {self.report}" if self.report else "",
        ]
        print_line(self._console, "; ".join(filter(None, parts)), "bold")

    @property
    def exit_status(self) -> int:
        """2 after an error, 1 if rows are quarantined, otherwise 0."""
        if self.errors:
            return EXIT_ERROR
        return EXIT_FINDINGS if self.counts.rows[QUARANTINED] else 0
