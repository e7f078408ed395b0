"""What a command tells of its way through the files: findings, faults, progress, and a summary at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from chatmend.cli.terminal import EFFECTS, FAULT, FOUND, count, say

if TYPE_CHECKING:
    from types import TracebackType

    from chatmend.cli.conversation import Visit
    from chatmend.cli.sources import Discovery, Source
    from chatmend.cli.walk import Seen

_PROGRESS_FROM = 1 << 20
"""Bytes to read from which a progress bar is worth its line."""


_AGAIN = 10
"""How many faults are named again at the end."""


class Account:
    """Prints as it goes, and counts; where both go to a terminal, the progress bar stands below."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        """Print findings to ``console``, or with ``quiet`` only the summary; faults go to standard error."""
        self.console = console
        self.codes: Counter[tuple[str, str]] = Counter()
        self.conversations = self.faulty = self.left = self.faults = self.passed = self.links = self.written = 0
        self.cleared = 0
        """Temporary files of earlier runs, removed."""
        self._quiet = quiet
        self._progress: Progress | None = None
        self._first: list[str] = []
        """The first faults."""
        self._buried = False
        """Whether findings were printed behind the first fault."""

    def begin(self, discovery: Discovery) -> None:
        """Show progress from here on, where anyone can see it."""
        self.links += discovery.links
        size = sum(source.size for source in discovery.sources)
        shown = self.console if self.console.is_terminal else Console(stderr=True)
        if size < _PROGRESS_FROM or not shown.is_terminal:
            return
        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=shown, transient=True)
        self._progress.add_task("", total=size)
        self._progress.start()

    def __enter__(self) -> Self:
        """Nothing to do: ``begin`` starts the progress bar when the files are known."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the progress bar away."""
        if self._progress:
            self._progress.stop()

    def advance(self, size: int) -> None:
        """So many bytes more are done."""
        if self._progress:
            self._progress.advance(self._progress.task_ids[0], size)

    def tell(self, source: Source, seen: Seen, first: int = 1) -> None:
        """Tell of a block of a file, in the order of its lines; ``first`` is the number of the first one."""
        self.conversations += seen.conversations
        self.passed += seen.passed
        for number in sorted({*seen.visits, *seen.faults}):
            if number in seen.faults:
                self.fault(f"{source.path}: {_moved(seen.faults[number], first + number)}")
            else:
                self._tell_of(source.title(first + number), seen.visits[number])

    def _tell_of(self, title: str, visit: Visit) -> None:
        self.faulty += 1
        self.left += sum(finding.left for finding in visit.findings)
        self.codes.update((finding.code, finding.rule) for finding in visit.findings)
        if self._quiet:
            return
        self._buried = self._buried or bool(self.faults)
        say(self.console, title, "bold")
        for finding in visit.findings:
            say(self.console, f"  {finding.text}", EFFECTS[finding.effect])

    def fault(self, text: str) -> None:
        """Name a fault on standard error, and go on."""
        self.faults += 1
        if len(self._first) < _AGAIN:
            self._first.append(text)
        say(Console(stderr=True), text, "red")

    def summarise(self, *, wrote: str = "") -> None:
        """Print how often each code was found, and what became of the files; faults again that scrolled away."""
        if self.codes:
            say(self.console, "")
        for (code, rule), number in sorted(self.codes.items()):
            say(self.console, f"{number:>6}  {code} {rule}")
        judged = count(self.conversations, "conversation")
        found = f"{count(self.codes.total(), 'finding')} in {self.faulty:,} of {judged}"
        parts = [
            found if self.codes else f"nothing found in {judged}",
            f"{count(self.written, 'file')} {wrote}" if wrote else "",
            f"{count(self.cleared, 'temporary file')} of a run that was killed removed" if self.cleared else "",
            f"{count(self.passed, 'text')} without a conversation passed over" if self.passed else "",
            f"{count(self.links, 'symbolic link')} not followed" if self.links else "",
            f"{count(self.faults, 'fault')}, see above" if self.faults else "",
        ]
        if self._buried:
            more = self.faults - len(self._first)
            again = [*self._first, f"and {count(more, 'other fault')}, see above"] if more else self._first
            for text in again:
                say(Console(stderr=True), text, "red")
        say(self.console, "; ".join(part for part in parts if part), "bold")

    def status(self, *, found: bool) -> int:
        """The exit status: 2 after a fault, 1 if something was found, or else 0."""
        return FAULT if self.faults else FOUND if found else 0


def _moved(fault: str, number: int) -> str:
    """A fault whose line was counted inside one conversation, counted in the file."""
    row, _, rest = fault.removeprefix("line ").partition(",")
    return f"line {int(row) + number - 1},{rest}"
