"""Reads and writes Parquet files, in record batches that worker processes repair."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import IO, TYPE_CHECKING, Any

from chatmend.cli.data_part import Outcome, Part, PartRepair, Task
from chatmend.data import arrow
from chatmend.data.rows import QUARANTINED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.data.formats import Format

_ROWS = 1_000
"""Rows of a record batch."""
_BUFFER_BYTES = 1 << 20
"""Size of the buffer for reading each column."""
_GROUP_ROWS = 20_000
"""Rows of a row group of a written file."""


class Parquet:
    """Parquet: schema, metadata and compression stay the same."""

    quarantine_suffix = ".parquet"

    def chunks(self, path: Path) -> Iterator[tuple[Any, float]]:
        """Yield record batches; a row group is never read as a whole."""
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            total = max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(_ROWS):
                yield batch, batch.num_rows / total

    def layout(self, chunk: Any, task: Task) -> Format | None:  # noqa: ANN401
        """Return the layout of the first row whose cells are not null."""
        return arrow.format_of_table(chunk, column=task.column, layout=task.layout)

    def count(self, chunk: Any) -> int:  # noqa: ANN401
        """Return the number of rows."""
        return int(chunk.num_rows)

    def process(self, part: Part, layout: Format, task: Task) -> Outcome:
        """Repair a record batch."""
        run = PartRepair(part, layout, task)
        repair = partial(run.repair, has_nulls=False)
        repaired, results = arrow.repair_batch(part.chunk, layout, repair)
        kept: list[int] = []
        quarantined: list[int] = []
        for number, result in enumerate(results):
            run.add(result, number)
            (quarantined if result.status == QUARANTINED else kept).append(number)
        good = arrow.take(repaired, kept) if quarantined else repaired
        bad = arrow.take(repaired, quarantined)
        reports = [results[number] for number in quarantined]
        bad = arrow.with_report(bad, reports, _report_name(part.chunk.schema))
        return run.finish(Outcome(good, bad))

    def writers(
        self, path: Path, good: IO[bytes], bad: IO[bytes]
    ) -> tuple[_ParquetWriter, _ParquetWriter]:
        """Return writers of Parquet with the schema of the file ``path``."""
        arrow.import_pyarrow()  # or an error that names the extra
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            columns = metadata.row_group(0) if metadata.num_row_groups else None
            codec = columns.column(0).compression if columns and metadata.num_columns else "SNAPPY"
        codec = "NONE" if codec == "UNCOMPRESSED" else codec
        # Metadata that lists the columns would be wrong for the quarantine, which has one more.
        pa = arrow.import_pyarrow()
        report = pa.field(_report_name(schema), arrow.report_type())
        extended = schema.append(report).remove_metadata()
        return _ParquetWriter(good, schema, codec), _ParquetWriter(bad, extended, codec)


def _report_name(schema: Any) -> str:  # noqa: ANN401 - a schema of pyarrow
    """Return a name for the report column of the quarantine that no other column has."""
    names = (arrow.REPORT + "_quarantine" * number for number in count())
    return next(name for name in names if name not in schema.names)


class _ParquetWriter:
    def __init__(self, file: IO[bytes], schema: Any, codec: str) -> None:  # noqa: ANN401
        from pyarrow import parquet  # noqa: PLC0415

        self._schema, self._pending, self._rows = schema, list[Any](), 0
        self._writer = parquet.ParquetWriter(file, schema, compression=codec)

    def write(self, payload: Any) -> None:  # noqa: ANN401
        self._pending.append(payload)
        self._rows += payload.num_rows
        if self._rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = arrow.import_pyarrow().Table
        batches = [batch.replace_schema_metadata(None) for batch in self._pending]
        plain = self._schema.remove_metadata()
        self._writer.write_table(
            table.from_batches(batches, plain).replace_schema_metadata(self._schema.metadata)
        )
        self._pending, self._rows = [], 0

    def finish(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()
