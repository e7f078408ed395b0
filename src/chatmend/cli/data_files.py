"""The file types of data sets, which are read in chunks that worker processes repair.

A chunk is a part of a file that fits into memory: lines of JSONL, rows of JSON or CSV, or a record
batch of Parquet. Usable rows are written to a file of the same type. Quarantined rows are written,
unchanged and with the reason, to a second file.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Protocol

from chatmend.cli.data_csv import CsvRows
from chatmend.cli.data_json import JsonRows
from chatmend.cli.data_parquet import Parquet
from chatmend.cli.data_part import Outcome, Part, PartRepair, Task
from chatmend.cli.data_texts import (
    BytesWriter,
    first_layout,
    has_long_number,
    parse_text,
    refuse_other_content,
    repair_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.data.formats import Format

_BLOCK_BYTES = 1 << 20
"""Approximate size of a chunk of lines."""


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


class Lines:
    """JSONL: lines without a repair keep their bytes."""

    quarantine_suffix = ".jsonl"

    def chunks(self, path: Path) -> Iterator[tuple[bytes, float]]:
        """Yield about 1 MiB of complete lines at a time."""
        refuse_other_content(path)
        size = max(path.stat().st_size, 1)
        with path.open("rb") as file:
            while lines := file.readlines(_BLOCK_BYTES):
                block = b"".join(lines)
                yield block, len(block) / size

    def layout(self, chunk: bytes, task: Task) -> Format | None:
        """Return the layout of the first line that has one."""
        return first_layout((parse_text(line) for line in chunk.splitlines() if line.strip()), task)

    def count(self, chunk: bytes) -> int:
        """Return the number of lines."""
        return chunk.count(b"\n") + (not chunk.endswith(b"\n"))

    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair each line."""
        is_exact = has_long_number(part.chunk)  # one check for many lines
        run = PartRepair(part, layout, task)
        good, bad = repair_texts(part.chunk.split(b"\n"), run, is_exact=is_exact)
        outcome = Outcome(b"", b"")
        outcome.good, outcome.bad = (b"".join(b"%b\n" % raw for raw in x) for x in (good, bad))
        return run.finish(outcome)

    def writers(self, path: Path, good: IO[bytes], bad: IO[bytes]) -> tuple[Writer, Writer]:  # noqa: ARG002 - as for other types
        """Return writers of lines."""
        return BytesWriter(good), BytesWriter(bad)


FILE_TYPES: dict[str, FileType] = {
    ".jsonl": Lines(),
    ".ndjson": Lines(),
    ".json": JsonRows(),
    ".csv": CsvRows(),
    ".parquet": Parquet(),
}
"""The file types by the suffix of their names."""
