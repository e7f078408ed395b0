"""Reads and writes CSV files; the cells that hold conversations are JSON texts."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from chatmend.cli.data_part import Outcome, Part, PartRepair, Task
from chatmend.cli.data_texts import (
    BytesWriter,
    first_layout,
    quarantined_line,
    refuse_other_content,
)
from chatmend.cli.depth import deep_values
from chatmend.data.json_values import dumps
from chatmend.data.rows import QUARANTINED, REPAIRED, RowResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from chatmend.data.formats import Format
    from chatmend.data.rows import Row

_ROWS = 1_000
"""Rows of a chunk."""
_NOT_UTF8 = "not UTF-8"
_Record: TypeAlias = tuple[str, list[str]]
"""The text of a row with its end of line, and its cells."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some rows of a file; can be pickled."""

    header: list[str]
    is_quoted: bool
    """Whether all cells of the file are in quotation marks."""
    records: list[_Record]

    def row(self, record: _Record) -> Row:
        """Return a row by column, without the cells that have no column."""
        return dict(zip(self.header, record[1], strict=False))


class CsvRows:
    """CSV with a header; rows without a repair keep their bytes."""

    quarantine_suffix = ".jsonl"

    def chunks(self, path: Path) -> Iterator[tuple[_Chunk, float]]:
        """Yield rows, with their share of the file."""
        size = max(path.stat().st_size, 1)
        with _open(path) as file:
            records = _records(file)
            head, header = next(records, ("", []))
            while part := list(islice(records, _ROWS)):
                length = sum(len(text) for text, _ in part)
                yield _Chunk(header, _is_quoted(head, header), part), length / size

    def layout(self, chunk: _Chunk, task: Task) -> Format | None:
        """Return the layout of the first row that has one."""
        return first_layout(map(chunk.row, chunk.records), task)

    def count(self, chunk: _Chunk) -> int:
        """Return the number of rows."""
        return len(chunk.records)

    @deep_values()
    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair each row."""
        run, outcome = PartRepair(part, layout, task), Outcome(b"", b"")
        good, bad = list[str](), list[bytes]()
        for at, record in enumerate(part.chunk.records):
            row = part.chunk.row(record)
            is_utf8 = not any("\udc80" <= letter <= "\udcff" for letter in record[0])
            result = run.repair(row, at) if is_utf8 else RowResult(row, QUARANTINED, (), _NOT_UTF8)
            run.add(result, at)
            if result.status == QUARANTINED:
                raw = dumps(row).encode() if is_utf8 else _bytes(record[0])
                bad.append(quarantined_line(raw, row if is_utf8 else None, result.error) + b"\n")
            else:
                is_changed = result.status == REPAIRED
                good.append(_edited(part.chunk, record, result.row) if is_changed else record[0])
        outcome.good, outcome.bad = _bytes("".join(good)), b"".join(bad)
        return run.finish(outcome)

    def writers(
        self, path: Path, good: IO[bytes], bad: IO[bytes]
    ) -> tuple[BytesWriter, BytesWriter]:
        """Return writers; the usable rows follow the header of the file ``path``."""
        with _open(path) as file:
            head, _ = next(_records(file), ("", []))
        good.write(_bytes(head))
        return BytesWriter(good), BytesWriter(bad)


def _open(path: Path) -> IO[str]:
    refuse_other_content(path)
    csv.field_size_limit(sys.maxsize)
    return path.open(encoding="utf-8", errors="surrogateescape", newline="")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _records(file: Iterable[str]) -> Iterator[_Record]:
    """Yield each row of a CSV file with its text; blank lines belong to the row after them."""
    consumed: list[str] = []

    def lines() -> Iterator[str]:
        for number, line in enumerate(file):
            consumed.append(line)
            yield line.removeprefix("\ufeff") if number == 0 else line

    for cells in csv.reader(lines()):
        if cells:
            yield "".join(consumed), cells
            consumed.clear()


def _is_quoted(text: str, cells: list[str]) -> bool:
    return text.removeprefix("\ufeff").startswith('"') and text.count('"') >= 2 * len(cells)


def _edited(chunk: _Chunk, record: _Record, row: Row) -> str:
    """Return the text of a row in which some cells have other values."""
    text, cells = record
    end = text[len(text.rstrip("\r\n")) :]
    columns = {name: at for at, name in enumerate(chunk.header)}
    new = [*cells]
    for name, at in columns.items():
        if at < len(new):
            new[at] = row[name]
    written: list[str] = []
    quoting: Literal[0, 1] = csv.QUOTE_ALL if chunk.is_quoted else csv.QUOTE_MINIMAL
    csv.writer(_Texts(written), lineterminator=end, quoting=quoting).writerow(new)
    return "".join(written)


class _Texts:
    """Collects what a CSV writer writes."""

    def __init__(self, texts: list[str]) -> None:
        self.write = texts.append
