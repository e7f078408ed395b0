"""Prints the findings, errors, progress and summary of a command."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from chatmend.cli.terminal import EFFECT_COLOURS, EXIT_ERROR, EXIT_FINDINGS, count, print_line

if TYPE_CHECKING:
    from types import TracebackType

    from chatmend.cli.conversation import ConversationOutcome
    from chatmend.cli.processing import BlockOutcome
    from chatmend.cli.sources import Discovery, InputFile

_PROGRESS_FROM = 1 << 20
"""Total size in bytes from which a progress bar is shown."""


_MAX_REPEATED = 10
"""How many errors are repeated at the end."""


class RunReport:
    """Prints findings and errors during a run, counts them, and prints a summary."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        """Print findings to ``console``, or only the summary if ``quiet``.

        Errors go to standard error.
        """
        self.console = console
        self.codes: Counter[tuple[str, str]] = Counter()
        """Findings by rule code and name."""
        self.conversations = self.defective = self.unrepaired = self.errors = self.skipped = (
            self.links
        ) = self.written = 0
        self.leftovers = 0
        """Removed temporary files of earlier runs."""
        self._quiet = quiet
        self._progress: Progress | None = None
        self._first_errors: list[str] = []
        self._repeats_errors = False
        """Whether findings were printed after the first error, so that it may be out of sight."""

    def start_progress(self, discovery: Discovery) -> None:
        """Start the progress bar if the files are large and the output is a terminal."""
        self.links += discovery.links
        size = sum(source.size for source in discovery.sources)
        console = self.console if self.console.is_terminal else Console(stderr=True)
        if size < _PROGRESS_FROM or not console.is_terminal:
            return
        columns = (
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            DownloadColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._progress.add_task("", total=size)
        self._progress.start()

    def __enter__(self) -> Self:
        """Return the report itself; ``start_progress`` starts the progress bar later."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the progress bar."""
        if self._progress:
            self._progress.stop()

    def advance(self, size: int) -> None:
        """Advance the progress bar by ``size`` bytes."""
        if self._progress:
            self._progress.advance(self._progress.task_ids[0], size)

    def report_block(self, source: InputFile, outcome: BlockOutcome, first: int = 1) -> None:
        """Print the findings and errors of a block in the order of its lines.

        Args:
            source: the file.
            outcome: what was found in the block.
            first: the number of the block's first line in the file.
        """
        self.conversations += outcome.conversations
        self.skipped += outcome.skipped
        for number in sorted({*outcome.outcomes, *outcome.errors}):
            if number in outcome.errors:
                self.report_error(
                    f"{source.path}: {in_file_lines(outcome.errors[number], first + number)}"
                )
            else:
                self._report_findings(source.title(first + number), outcome.outcomes[number])

    def _report_findings(self, title: str, outcome: ConversationOutcome) -> None:
        self.defective += 1
        self.unrepaired += sum(finding.left for finding in outcome.findings)
        self.codes.update((finding.code, finding.rule) for finding in outcome.findings)
        if self._quiet:
            return
        self._repeats_errors = self._repeats_errors or bool(self.errors)
        print_line(self.console, title, "bold")
        for finding in outcome.findings:
            print_line(self.console, f"  {finding.text}", EFFECT_COLOURS[finding.effect])

    def report_error(self, text: str) -> None:
        """Count an error and print it to standard error."""
        self.errors += 1
        if len(self._first_errors) < _MAX_REPEATED:
            self._first_errors.append(text)
        print_line(Console(stderr=True), text, "red")

    def print_summary(self, *, wrote: str = "") -> None:
        """Print the number of findings per code and of files, and repeat the first errors.

        Args:
            wrote: the word for written files, such as ``written``; empty if none are written.
        """
        if self.codes:
            print_line(self.console, "")
        for (code, rule), number in sorted(self.codes.items()):
            print_line(self.console, f"{number:>6}  {code} {rule}")
        checked = count(self.conversations, "conversation")
        found = f"{count(self.codes.total(), 'finding')} in {self.defective:,} of {checked}"
        parts = [
            found if self.codes else f"no findings in {checked}",
            f"{count(self.written, 'file')} {wrote}" if wrote else "",
            f"{count(self.leftovers, 'temporary file')} of a killed run removed"
            if self.leftovers
            else "",
            f"{count(self.skipped, 'text')} without a conversation skipped" if self.skipped else "",
            f"{count(self.links, 'symbolic link')} not followed" if self.links else "",
            f"{count(self.errors, 'error')}, see above" if self.errors else "",
        ]
        if self._repeats_errors:
            more = self.errors - len(self._first_errors)
            repeated = (
                [*self._first_errors, f"and {count(more, 'more error')}, see above"]
                if more
                else self._first_errors
            )
            for text in repeated:
                print_line(Console(stderr=True), text, "red")
        print_line(self.console, "; ".join(part for part in parts if part), "bold")

    def exit_status(self, *, found: bool) -> int:
        """Return 2 after an error, 1 if something was found, otherwise 0."""
        return EXIT_ERROR if self.errors else EXIT_FINDINGS if found else 0


def in_file_lines(error: str, number: int) -> str:
    """Return an error with its line counted in the file instead of in the conversation."""
    row, _, rest = error.removeprefix("line ").partition(",")
    return f"line {int(row) + number - 1},{rest}"
