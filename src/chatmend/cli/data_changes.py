"""Writes the changes of a run to a Parquet file, and reads them to replay them.

The changes of each file are stored next to its record, so a run can be continued. At the end they
are joined. A row group never holds the changes of two files.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import IO, TYPE_CHECKING, Any

from chatmend.data.arrow import import_pyarrow
from chatmend.data.change_table import change_schema
from chatmend.errors import ReplayError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_GROUP_ROWS, _GROUP_BYTES = 20_000, 16 << 20
"""The size of a row group, from which it is written."""
_BATCH_ROWS = 1_000
"""Changes that are read at a time."""


class ChangeWriter:
    """Writes tables of changes as Parquet; memory is limited by the size of a row group."""

    def __init__(self, file: IO[bytes]) -> None:
        """Write to an open file."""
        self._pa = import_pyarrow()
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        self._writer = parquet.ParquetWriter(file, change_schema(), compression="zstd")
        self._pending: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, table: Any) -> None:  # noqa: ANN401 - a table of pyarrow
        """Append changes."""
        if table.num_rows:
            self._pending.append(table)
            self._rows, self._bytes = self._rows + table.num_rows, self._bytes + table.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self.end_group()

    def end_group(self) -> None:
        """Write the pending changes, so that others begin a new row group."""
        if self._pending:
            self._writer.write_table(self._pa.concat_tables(self._pending))
        self._pending, self._rows, self._bytes = [], 0, 0

    def finish(self) -> None:
        """Write the end of the file."""
        self.end_group()
        self._writer.close()


def join_changes(parts: Iterable[Path], file: IO[bytes]) -> None:
    """Write the changes of all parts to one file."""
    from pyarrow import parquet  # noqa: PLC0415

    writer = ChangeWriter(file)
    for path in parts:
        with parquet.ParquetFile(path) as part:
            for batch in part.iter_batches(_BATCH_ROWS):
                writer.write(import_pyarrow().table(batch).cast(change_schema()))
        writer.end_group()
    writer.finish()


class ChangeFile:
    """A Parquet file of changes."""

    def __init__(self, path: Path) -> None:
        """Read which row groups belong to which file of the data set.

        Raises:
            ReplayError: this is not a file of changes.
        """
        import_pyarrow()
        from pyarrow import parquet  # noqa: PLC0415

        self.path = path
        self._groups: dict[str, list[int]] = {}
        with parquet.ParquetFile(path) as file:
            names = set(change_schema().names) - set(file.schema_arrow.names)
            if names:
                text = f"{path} is not a file of changes: it lacks {', '.join(sorted(names))}"
                raise ReplayError(text)
            for group in range(file.num_row_groups):
                column = file.read_row_group(group, columns=["file"])["file"]
                for name in column.unique().to_pylist():
                    self._groups.setdefault(name, []).append(group)

    def read(self, name: str) -> ChangeReader:
        """Return a reader of the changes of one file of the data set."""
        return ChangeReader(self._batches(name))

    def _batches(self, name: str) -> Iterator[Any]:
        from pyarrow import compute, parquet  # noqa: PLC0415

        groups = self._groups.get(name, [])
        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups) if groups else ():
                yield batch.filter(compute.equal(batch["file"], name))


class ChangeReader:
    """Reads the changes of one file in the order of its rows."""

    def __init__(self, batches: Iterator[Any]) -> None:
        """Read from record batches."""
        self._batches = batches
        self._batch: Any = None
        self._rows: list[int] = []
        self._at = 0
        self._load()

    def _load(self) -> bool:
        """Load the next batch with rows; return whether there is one."""
        last = self._rows[-1] if self._rows else -1
        batch = next((batch for batch in self._batches if batch.num_rows), None)
        self._batch, self._at = batch, 0
        self._rows = [] if batch is None else batch["row"].to_pylist()
        if any(one > other for one, other in zip([last, *self._rows], self._rows, strict=False)):
            raise ReplayError("the changes are not sorted by row; sort them by file and row")
        return batch is not None

    @property
    def first(self) -> dict[str, Any] | None:
        """The next change as a dict; None at the end."""
        if self._batch is None:
            return None
        (entry,) = self._batch.slice(self._at, 1).to_pylist()
        return dict(entry)

    def take_until(self, row: int) -> Any:  # noqa: ANN401 - a table of pyarrow
        """Return the changes of all rows before this one, as a table."""
        found = []
        while self._batch is not None:
            stop = bisect_left(self._rows, row, self._at)
            found.append(self._batch.slice(self._at, stop - self._at))
            self._at = stop
            if stop < len(self._rows):
                break
            self._load()
        pa = import_pyarrow()
        return pa.Table.from_batches(found) if found else None
