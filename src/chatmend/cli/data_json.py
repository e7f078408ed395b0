"""Reads and writes JSON files with a list of rows, or with one row."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from chatmend.cli.data_part import Outcome, Part, PartRepair, Task
from chatmend.cli.data_texts import (
    BytesWriter,
    first_layout,
    parse_text,
    refuse_other_content,
    repair_texts,
)
from chatmend.cli.depth import deep_values
from chatmend.cli.json_text import list_items
from chatmend.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.data.formats import Format

_ROWS = 1_000
"""Rows of a chunk."""


class JsonRows:
    """A JSON file; rows without a repair keep their bytes."""

    quarantine_suffix = ".jsonl"

    def chunks(self, path: Path) -> Iterator[tuple[list[bytes], float]]:
        """Yield the texts of rows; the whole file is read at once.

        Raises:
            LayoutError: it is neither a list of objects nor an object.
        """
        text, spans = _read(path)
        rows = [text[start:stop].encode() for start, stop in spans]
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            yield part, len(part) / len(rows)

    def layout(self, chunk: list[bytes], task: Task) -> Format | None:
        """Return the layout of the first row that has one."""
        return first_layout(map(parse_text, chunk), task)

    def count(self, chunk: list[bytes]) -> int:
        """Return the number of rows."""
        return len(chunk)

    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair each row."""
        run = PartRepair(part, layout, task)
        good, bad = repair_texts(part.chunk, run)
        return run.finish(Outcome(good, b"".join(line + b"\n" for line in bad)))

    def writers(
        self, path: Path, good: IO[bytes], bad: IO[bytes]
    ) -> tuple[_JsonWriter, BytesWriter]:
        """Return a writer with the text that the file ``path`` has between its rows."""
        text, spans = _read(path)
        if not spans:
            return _JsonWriter(good, text, "", ""), BytesWriter(bad)
        gap = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else ","
        head, end = text[: spans[0][0]], text[spans[-1][1] :]
        return _JsonWriter(good, head, gap, end), BytesWriter(bad)


@deep_values()
def _read(path: Path) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a file and the spans of its rows."""
    refuse_other_content(path)
    raw = path.read_bytes()
    value = parse_text(raw)
    rows = value if isinstance(value, list) else [value]
    if not all(isinstance(row, dict) for row in rows):
        raise LayoutError("expected a JSON list of rows; store one row per line in .jsonl")
    text = raw.decode()
    start = text.index("[" if isinstance(value, list) else "{")
    if isinstance(value, list):
        return text, list_items(text, start)
    return text, [(start, text.rindex("}") + 1)]


class _JsonWriter:
    def __init__(self, file: IO[bytes], head: str, gap: str, end: str) -> None:
        self._file, self._gap, self._end = file, gap.encode(), end.encode()
        self._next = b""
        file.write(head.encode())

    def write(self, payload: list[bytes]) -> None:
        for row in payload:
            self._file.write(self._next + row)
            self._next = self._gap

    def finish(self) -> None:
        self._file.write(self._end)
