"""Prints what ``chatmend explain --file`` finds in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from chatmend.cli.locate import Located, locate
from chatmend.cli.terminal import EFFECT_COLOURS, error_exit, print_line
from chatmend.refusals.positions import ids_in, positions_in

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chatmend.cli.conversation import Finding, RunSettings

_MAX_POSITIONS = 8
"""How many messages are listed for an id."""


class FileSearch:
    """The findings in a file, compared with the ids and positions that an error text names."""

    def __init__(self, file: Path, settings: RunSettings, text: str) -> None:
        """Search the file.

        Raises:
            typer.Exit: the file could not be read.
        """
        self._text = text
        self._shown: list[Located] = []
        self._absent = ids_in(text)
        self._count = 0
        try:
            for located in locate(file, settings, text):
                self._add(located)
        except OSError as error:
            raise error_exit(f"{file}: could not be read: {error.strerror}") from error

    def _add(self, located: Located) -> None:
        self._count += 1
        if located.findings or located.ids or located.error:
            self._shown.append(located)
        if not located.error:
            self._absent = [name for name in self._absent if name in located.absent]

    @property
    def codes(self) -> set[str]:
        """The rules that the file violates."""
        return {finding.code for finding in self._findings()}

    @property
    def is_repairable(self) -> bool:
        """Whether a repair would change the file."""
        return any(not finding.left for finding in self._findings())

    @property
    def has_errors(self) -> bool:
        """Whether a part of the file could not be read."""
        return any(one.error for one in self._shown)

    def print_findings(self, console: Console, codes: set[str], target: str) -> None:
        """Print the findings with one of the codes, or else all, and what the error names."""
        wanted = not codes.isdisjoint(self.codes)
        if not wanted:
            hint = "There are other findings:"
            if not self.codes:
                hint = (
                    "There are no other findings. "
                    "The request that was sent may differ from this file."
                )
            text = f"No matching problem found in this file for {target}. {hint}"
            print_line(console, text, "bold")
        for one in self._shown:
            found = [f for f in one.findings if f.code in codes or not wanted]
            _print_located(console, one, found)
        if self.has_errors:
            return
        for name in self._absent:
            print_line(console, f"{name} from the error message is not in this file", "yellow")
        if self._count == 1 and self._shown:
            (one,) = self._shown
            found = [f for f in one.findings if f.code in codes or not wanted]
            for note in _compare_positions(positions_in(self._text), found, one.messages):
                print_line(console, note, "yellow")

    def _findings(self) -> Iterable[Finding]:
        return (finding for one in self._shown for finding in one.findings)


def _print_located(console: Console, one: Located, found: list[Finding]) -> None:
    lines = [(finding.text, EFFECT_COLOURS[finding.effect]) for finding in found]
    at = {finding.index for finding in one.findings}
    lines += [(_describe_id(name, indices, at), "") for name, indices in one.ids.items()]
    if lines or one.error:
        print_line(console, one.title, "bold")
    for line, style in lines:
        print_line(console, f"  {line}", style)
    if one.error:
        print_line(Console(stderr=True), f"  {one.error}", "red")


def _describe_id(name: str, indices: list[int], at: set[int | None]) -> str:
    more = "" if None in at or not at.isdisjoint(indices) else "; no finding is there"
    return f"the id {name} from the error message is in {_listed(indices)}{more}"


def _compare_positions(named: list[int], found: list[Finding], messages: int) -> list[str]:
    """Return a note if an error names other messages than those with the findings."""
    at = sorted({finding.index for finding in found if finding.index is not None})
    if not named or not set(named).isdisjoint(at):
        return []
    text = f"the error names {_listed(named)}"
    if named[-1] >= messages:
        text += f", but the file has {messages} messages"
    if at:
        verb = "finding is" if len(at) == 1 else "findings are"
        text += f"; the {verb} at {_listed(at)}"
    return [f"{text} (providers count the messages of the request that was sent)"]


def _listed(indices: list[int]) -> str:
    text = ", ".join(f"messages[{index}]" for index in indices[:_MAX_POSITIONS])
    more = f" and {len(indices) - _MAX_POSITIONS} more" if len(indices) > _MAX_POSITIONS else ""
    return text + more
