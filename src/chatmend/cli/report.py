"""``chatmend report``: sums up what chatmend found in the logs of a LiteLLM proxy."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from chatmend.cli.data_postgres import is_database, read_spend_logs
from chatmend.cli.spend_logs import LoggedCall, read_calls
from chatmend.cli.terminal import count, error_exit, print_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KEYS = ("model", "key", "team")
_HEAD = ("requests", "refused", "repairable", "findings", "repaired", "rules")
_MOST_RULES = 6
"""Rules that a line of the table shows; ``--json`` prints all."""


@dataclass(slots=True)
class Row:
    """The calls of one model and key."""

    requests: int = 0
    refused: int = 0
    """Requests that the provider refused."""
    repairable: int = 0
    """Refused requests in report mode, for which chatmend would have made changes."""
    findings: int = 0
    """Requests in report mode for which chatmend would have made changes, refused or not."""
    repaired: int = 0
    """Requests that chatmend repaired."""
    rules: Counter[str] = field(default_factory=Counter)
    """For each code, the number of requests with such a change."""

    def add(self, call: LoggedCall) -> None:
        """Count one call."""
        self.requests += 1
        self.refused += call.refused
        is_reported = call.mode == "report"
        self.findings += is_reported
        self.repairable += is_reported and call.refused
        self.repaired += call.mode == "repair"
        self.rules.update(call.changes.keys())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        figures = {name: getattr(self, name) for name in _HEAD[:-1]}
        return {**figures, "rules": dict(self._sorted_rules())}

    def to_texts(self) -> tuple[str, ...]:
        """Return the cells of a line of the table."""
        shown = self._sorted_rules()
        texts = [f"{printable(code)}={number}" for code, number in shown[:_MOST_RULES]]
        more = len(shown) - _MOST_RULES
        cells = (str(getattr(self, name)) for name in _HEAD[:-1])
        return (*cells, " ".join([*texts, *([f"+{more}"] if more > 0 else [])]) or "-")

    def _sorted_rules(self) -> list[tuple[str, int]]:
        return sorted(self.rules.items(), key=lambda item: (-item[1], item[0]))


def report(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS",
            help="JSONL files of spend logs or standard logging payloads, '-' for standard input, "
            "or the address of LiteLLM's database: postgresql://...",
            show_default=False,
        ),
    ],
    by: Annotated[
        str, typer.Option(help="What to group by: 'model', 'key', 'team', with commas.")
    ] = "model,key",
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Rows of a database from this UTC time on: 2026-11-20."),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Print what chatmend found in the traffic of a LiteLLM proxy.

    Counts requests, those that providers refused, and those that chatmend repaired or would have
    repaired, with the codes of the rules. Texts of transcripts are not read.

    Exit status: 0 all logs were read, 2 a log could not be read or contains no request.
    """
    keys = tuple(key.strip() for key in by.split(","))
    if not set(keys) <= set(_KEYS):
        raise error_exit(f"--by {by}: choose from {', '.join(_KEYS)}")
    rows: dict[tuple[str, ...], Row] = {}
    unreadable = 0
    for call in _calls(logs, since):
        if call is None:
            unreadable += 1
        else:
            rows.setdefault(tuple(getattr(call, key) for key in keys), Row()).add(call)
    if not rows:
        raise error_exit(f"no request in {', '.join(map(_shown, logs))}")
    found = sorted(rows.items(), key=lambda item: (-item[1].refused, -item[1].requests, item[0]))
    if as_json:
        typer.echo(json.dumps([_as_dict(keys, names, row) for names, row in found], indent=2))
    else:
        typer.echo(_table(keys, found))
    if unreadable:
        verb = "is not a JSON object" if unreadable == 1 else "are not JSON objects"
        text = f"{count(unreadable, 'line')} {verb}: skipped"
        print_line(Console(stderr=True), text, "yellow")


def _as_dict(keys: tuple[str, ...], names: tuple[str, ...], row: Row) -> dict[str, Any]:
    return {**dict(zip(keys, names, strict=True)), **row.to_dict()}


def _calls(logs: Iterable[str], since: str | None) -> Iterator[LoggedCall | None]:
    for log in logs:
        try:
            with _lines(log, since) as lines:
                yield from read_calls(lines)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise error_exit(f"{_shown(log)}: could not be read: {reason}") from error


@contextmanager
def _lines(log: str, since: str | None) -> Iterator[Iterable[str]]:
    if is_database(log):
        yield read_spend_logs(log, since)
    elif log == "-":
        yield sys.stdin
    else:
        with Path(log).open(encoding="utf-8-sig") as lines:
            yield lines


def _shown(log: str) -> str:
    """Return the name of a log; the address of a database may contain a password."""
    return "the database" if is_database(log) else log


def _table(keys: tuple[str, ...], found: list[tuple[tuple[str, ...], Row]]) -> str:
    lines = [(*keys, *_HEAD)]
    lines += [(*map(printable, names), *row.to_texts()) for names, row in found]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_justified(line, widths, len(keys)) for line in lines)


def _justified(line: tuple[str, ...], widths: list[int], names: int) -> str:
    last = len(line) - 1
    cells = (
        cell.ljust(width) if at < names else cell if at == last else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(cells).rstrip()
