"""Reads and writes the file types of data sets, in chunks that worker processes repair.

A chunk is a part of a file that fits into memory: lines of JSONL, rows of JSON or CSV, or a record
batch of Parquet. Usable rows are written to a file of the same type. Quarantined rows are written,
unchanged and with the reason, to a second file.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Protocol

import orjson

from chatmend.cli.data_parquet import Parquet
from chatmend.cli.data_part import Outcome, Part, PartRepair, Task
from chatmend.cli.depth import deep_values
from chatmend.cli.json_text import splice
from chatmend.data.formats import Format, recognise
from chatmend.data.renamed import Renamed, named
from chatmend.data.rows import QUARANTINED, REPAIRED, RowResult
from chatmend.errors import LayoutError
from chatmend.jsontext import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from chatmend.data.rows import Row

_BLOCK_BYTES = 1 << 20
"""Approximate size of a chunk of lines."""
_ROWS = 1_000
"""Rows of a chunk of JSON or CSV."""
_UNREADABLE = "not a JSON object"
_LONG_NUMBER = b"0" * 19
"""Digits that orjson may round: it reads an integer beyond 64 bits as a float."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")


class Writer(Protocol):
    """Writes one file."""

    def write(self, payload: Any) -> None:  # noqa: ANN401 - depends on the file type
        """Append the rows of an outcome."""

    def finish(self) -> None:
        """Write the end of the file; also called after an error, before the file is deleted."""


class FileType(Protocol):
    """The interface of a file type."""

    quarantine_suffix: str

    def chunks(self, path: Path) -> Iterator[tuple[Any, float]]:
        """Yield the chunks of a file, each with its share of the file."""

    def layout(self, chunk: Any, task: Task) -> Format | None:  # noqa: ANN401
        """Return the layout of the rows in a chunk; None if it has no rows.

        Raises:
            LayoutError: it is unknown.
        """

    def count(self, chunk: Any) -> int:  # noqa: ANN401
        """Return the number of rows in a chunk; those without content count, too."""

    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair the rows of a part."""

    def writers(self, path: Path, good: IO[bytes], bad: IO[bytes]) -> tuple[Writer, Writer]:
        """Return the writers for the repaired and the quarantined rows of the file ``path``."""


def layout_of(row: Row, task: Task) -> Format:
    """Return the layout that the options name, or else that of a row.

    Raises:
        LayoutError: it is unknown, or the column does not exist.
    """
    if task.layout is not None:
        return named(task.layout, task.column)
    if task.column is None:
        return recognise(row)
    if task.column not in row:
        raise LayoutError(f"no column {task.column!r}; the columns are {', '.join(row)}")
    return Renamed.recognise(row, task.column)


class Lines:
    """JSONL: lines without a repair keep their bytes."""

    quarantine_suffix = ".jsonl"

    def chunks(self, path: Path) -> Iterator[tuple[bytes, float]]:
        """Yield about 1 MiB of complete lines at a time."""
        size = max(path.stat().st_size, 1)
        with path.open("rb") as file:
            while lines := file.readlines(_BLOCK_BYTES):
                block = b"".join(lines)
                yield block, len(block) / size

    def layout(self, chunk: bytes, task: Task) -> Format | None:
        """Return the layout of the first line that can be read."""
        rows = (_parse(line) for line in chunk.splitlines() if line.strip())
        row = next((row for row in rows if isinstance(row, dict)), None)
        return None if row is None else layout_of(row, task)

    def count(self, chunk: bytes) -> int:
        """Return the number of lines."""
        return chunk.count(b"\n") + (not chunk.endswith(b"\n"))

    @deep_values()
    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair each line."""
        run, outcome = PartRepair(part, layout, task), Outcome(b"", b"")
        good, bad = list[bytes](), list[bytes]()
        is_exact = _has_long_number(part.chunk)  # one check for many lines
        for at, raw in enumerate(part.chunk.split(b"\n")):
            if not raw.strip():
                continue
            row = _parse(raw) if is_exact else _parse_fast(raw)
            if not isinstance(row, dict):
                run.add(RowResult({}, QUARANTINED, (), _UNREADABLE), at)
                bad.append(_quarantined_line(raw, row, _UNREADABLE))
                continue
            result = run.repair(row, at, has_nulls=_may_have_nulls(raw))
            run.add(result, at)
            if result.status == QUARANTINED:
                bad.append(_quarantined_line(raw, row, result.error))
            elif result.status == REPAIRED:
                good.append(splice(raw.decode(), row, result.row).encode())
            else:
                good.append(raw)
        outcome.good = b"".join(line + b"\n" for line in good)
        outcome.bad = b"".join(line + b"\n" for line in bad)
        return run.finish(outcome)

    def writers(self, path: Path, good: IO[bytes], bad: IO[bytes]) -> tuple[Writer, Writer]:  # noqa: ARG002 - as for other types
        """Return writers of lines."""
        return _BytesWriter(good), _BytesWriter(bad)


def _parse_fast(raw: bytes) -> object:
    """Return the value of a JSON text without long numbers; None if it is malformed."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse(raw)  # which accepts more


def _parse(raw: bytes) -> object:
    """Return the value of a JSON text; None if it is malformed.

    Integers beyond 64 bits are kept, because the value will be written again.
    """
    try:
        if not _has_long_number(raw):
            return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass  # the parser below accepts more
    try:
        return parse(raw.decode("utf-8-sig"))
    except ValueError:
        return None


def _has_long_number(raw: bytes) -> bool:
    return _LONG_NUMBER in raw.translate(_DIGITS)


def _may_have_nulls(raw: bytes) -> bool:
    """Return whether a JSON text has a null, also inside of a text with escapes."""
    return b"null" in raw or b"\\u00" in raw


def _quarantined_line(raw: bytes, row: object, reason: str | None) -> bytes:
    """Return a line with the reason and the original row, with its bytes if it is JSON."""
    original = (
        raw.strip() if row is not None else json.dumps(raw.decode("utf-8", "replace")).encode()
    )
    return b'{"error": %s, "row": %s}' % (json.dumps(reason).encode(), original)


class _BytesWriter:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, payload: bytes) -> None:
        self._file.write(payload)

    def finish(self) -> None:
        """Nothing follows the last line."""


class _Rows:
    """File types that are read as dicts."""

    quarantine_suffix = ".jsonl"

    def layout(self, chunk: list[Row], task: Task) -> Format | None:
        """Return the layout of the first row."""
        return layout_of(chunk[0], task) if chunk else None

    def count(self, chunk: list[Row]) -> int:
        """Return the number of rows."""
        return len(chunk)

    @deep_values()
    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair each row."""
        run, outcome = PartRepair(part, layout, task), Outcome([], b"")
        for at, row in enumerate(part.chunk):
            result = run.repair(row, at)
            run.add(result, at)
            if result.status == QUARANTINED:
                raw = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
                outcome.bad += _quarantined_line(raw, row, result.error) + b"\n"
            else:
                outcome.good.append(result.row)
        return run.finish(outcome)


class JsonRows(_Rows):
    """A JSON file with a list of rows, or with one row."""

    def chunks(self, path: Path) -> Iterator[tuple[list[Row], float]]:
        """Yield the rows; the whole file is read at once.

        Raises:
            LayoutError: it is neither a list of objects nor an object.
        """
        value = _parse(path.read_bytes())
        rows: list[Any] = value if isinstance(value, list) else [value]
        if not all(isinstance(row, dict) for row in rows):
            raise LayoutError("expected a JSON list of rows; store one row per line in .jsonl")
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            yield part, len(part) / len(rows)

    def writers(self, path: Path, good: IO[bytes], bad: IO[bytes]) -> tuple[Writer, Writer]:
        """Return a writer of a JSON list, or of one row if the file holds one row."""
        is_list = path.read_bytes().lstrip()[:1] == b"["
        return _JsonWriter(good, is_list=is_list), _BytesWriter(bad)


class _JsonWriter:
    def __init__(self, file: IO[bytes], *, is_list: bool) -> None:
        self._file, self._is_list, self._is_first = file, is_list, True

    def write(self, payload: list[Row]) -> None:
        for row in payload:
            start = ("[" if self._is_list else "") if self._is_first else ","
            self._is_first = False
            self._file.write((start + "\n").lstrip("\n").encode())
            self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def finish(self) -> None:
        if self._is_list:
            self._file.write(b"[]\n" if self._is_first else b"\n]\n")


class CsvRows(_Rows):
    """CSV with a header; the cells that hold conversations are JSON texts."""

    def chunks(self, path: Path) -> Iterator[tuple[list[Row], float]]:
        """Yield the rows, with an estimated share of the file."""
        csv.field_size_limit(sys.maxsize)
        size, done = max(path.stat().st_size, 1), 0
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            while rows := list(islice(reader, _ROWS)):
                now = os.lseek(file.fileno(), 0, os.SEEK_CUR)
                yield rows, (now - done) / size
                done = now

    def writers(self, path: Path, good: IO[bytes], bad: IO[bytes]) -> tuple[Writer, Writer]:
        """Return a writer of CSV with the same columns."""
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
        return _CsvWriter(good, header), _BytesWriter(bad)


class _CsvWriter:
    def __init__(self, file: IO[bytes], header: list[str]) -> None:
        self._file, self._header = file, header
        self._write([header])

    def write(self, payload: list[Row]) -> None:
        self._write([row.get(name) for name in self._header] for row in payload)

    def _write(self, rows: Iterable[list[Any]]) -> None:
        lines: list[str] = []
        csv.writer(_Lines(lines)).writerows(rows)
        self._file.write("".join(lines).encode())

    def finish(self) -> None:
        """Nothing follows the last row."""


class _Lines:
    """Collects the lines of a CSV writer."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


FILE_TYPES: dict[str, FileType] = {
    ".jsonl": Lines(),
    ".ndjson": Lines(),
    ".json": JsonRows(),
    ".csv": CsvRows(),
    ".parquet": Parquet(),
}
"""The file types by the suffix of their names."""
