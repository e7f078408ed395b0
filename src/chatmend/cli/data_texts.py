"""Repairs rows that are JSON texts; rows without a repair keep their bytes."""

from __future__ import annotations

import base64
import json
from itertools import islice
from typing import IO, TYPE_CHECKING

import orjson

from chatmend.cli.advice import known_content
from chatmend.cli.depth import deep_values
from chatmend.cli.json_text import splice
from chatmend.data.formats import Format, recognise
from chatmend.data.renamed import Renamed, named
from chatmend.data.rows import QUARANTINED, REPAIRED, RowResult
from chatmend.errors import LayoutError
from chatmend.jsontext import parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chatmend.cli.data_part import PartRepair, Task
    from chatmend.data.rows import Row

_UNREADABLE = "not a JSON object"
_LONG_NUMBER = b"0" * 19
"""Digits that orjson may round: it reads an integer beyond 64 bits as a float."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_BOM = b"\xef\xbb\xbf"
_LONGEST_MAGIC = 16
"""Bytes at the beginning of a file that show its type."""
_MAX_SEARCHED = 1_000
"""Rows from which the layout is recognised."""


def refuse_other_content(path: Path) -> None:
    """Refuse a file that is not text in UTF-8, instead of each of its lines.

    Raises:
        LayoutError: the file is compressed, in UTF-16 or of another known type.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        content = known_content(file.read(_LONGEST_MAGIC))
    if content:
        raise LayoutError(f"{content}; the rows of a {path.suffix} file must be text in UTF-8")


def first_layout(rows: Iterable[object], task: Task) -> Format | None:
    """Return the layout of the first row that has one; None if no row is an object.

    Raises:
        LayoutError: no row has a known layout, or the column does not exist.
    """
    failure: LayoutError | None = None
    for row in islice(rows, _MAX_SEARCHED):
        if isinstance(row, dict):
            try:
                return _layout_of(row, task)
            except LayoutError as error:
                failure = failure or error
    if failure is not None:
        raise failure
    return None


def _layout_of(row: Row, task: Task) -> Format:
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


@deep_values()
def repair_texts(
    raws: Iterable[bytes], run: PartRepair, *, is_exact: bool = True
) -> tuple[list[bytes], list[bytes]]:
    """Repair JSON texts; returns the usable texts and the lines for the quarantine.

    Args:
        raws: the texts; blank ones are skipped.
        run: repairs rows and collects the outcomes.
        is_exact: whether the texts may have integers that orjson would round.
    """
    good, bad = list[bytes](), list[bytes]()
    for at, raw in enumerate(raws):
        if not raw.strip():
            continue
        row = parse_text(raw) if is_exact else _parse_fast(raw)
        if not isinstance(row, dict):
            run.add(RowResult({}, QUARANTINED, (), _UNREADABLE), at)
            bad.append(quarantined_line(raw, row, _UNREADABLE))
            continue
        result = run.repair(row, at, has_nulls=_may_have_nulls(raw))
        run.add(result, at)
        if result.status == QUARANTINED:
            bad.append(quarantined_line(raw, row, result.error))
        elif result.status == REPAIRED:
            good.append(splice(raw.decode(), row, result.row).encode())
        else:
            good.append(raw)
    return good, bad


def _parse_fast(raw: bytes) -> object:
    """Return the value of a JSON text without long numbers; None if it is malformed."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return parse_text(raw)  # which accepts more


def parse_text(raw: bytes) -> object:
    """Return the value of a JSON text; None if it is malformed.

    Integers beyond 64 bits are kept, because the value will be written again.
    """
    try:
        if not has_long_number(raw):
            return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass  # the parser below accepts more
    try:
        return parse(raw.decode("utf-8-sig"))
    except ValueError:
        return None


def has_long_number(raw: bytes) -> bool:
    """Return whether a JSON text may have an integer that orjson would round."""
    return _LONG_NUMBER in raw.translate(_DIGITS)


def _may_have_nulls(raw: bytes) -> bool:
    """Return whether a JSON text has a null, also inside of a text with escapes."""
    return b"null" in raw or b"\\u00" in raw


def quarantined_line(raw: bytes, row: object, reason: str | None) -> bytes:
    """Return a line with the reason and the original row, with its bytes if it is JSON.

    A text that is not UTF-8 is readable under ``row`` and complete under ``base64``.
    """
    error = json.dumps(reason).encode()
    if row is not None:
        return b'{"error": %b, "row": %b}' % (error, raw.strip().removeprefix(_BOM))
    text = json.dumps(raw.decode("utf-8", "replace")).encode()
    try:
        raw.decode()
    except UnicodeDecodeError:
        original = base64.b64encode(raw)
        return b'{"error": %b, "row": %b, "base64": "%b"}' % (error, text, original)
    return b'{"error": %b, "row": %b}' % (error, text)


class BytesWriter:
    """Writes lines."""

    def __init__(self, file: IO[bytes]) -> None:
        """Write to an open file."""
        self._file = file

    def write(self, payload: bytes) -> None:
        """Append lines."""
        self._file.write(payload)

    def finish(self) -> None:
        """Nothing follows the last line."""
