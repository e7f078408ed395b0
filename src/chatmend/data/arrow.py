"""Repairs Arrow tables: the same rows, columns and types come out, and one report column is added.

A batch of rows is converted at a time, so memory does not grow with the table. Only changed rows
are rebuilt; all other values keep their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

from chatmend.data.arrow_fit import is_list, misfit_of
from chatmend.data.arrow_values import values_of
from chatmend.data.formats import FORMATS, recognise
from chatmend.data.renamed import Renamed, named
from chatmend.data.rows import QUARANTINED, REPAIRED, RowResult, repair_row
from chatmend.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    import pyarrow as pa

    from chatmend.data.formats import Format
    from chatmend.data.rows import Row, RowSettings

    _Rows = TypeVar("_Rows", pa.Array, pa.RecordBatch)
    _Kind = TypeVar("_Kind", pa.Table, pa.RecordBatch, pa.RecordBatchReader)

BATCH_ROWS = 1_000
"""Rows that are converted to Python objects at a time."""
REPORT = "chatmend"
"""The name of the report column."""


def import_pyarrow() -> Any:  # noqa: ANN401 - a module
    """Import pyarrow, or raise an error that names the extra."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - `import chatmend.data` stays fast
    except ImportError as error:
        text = f"tables need pyarrow ({error}); install it: pip install 'chatmend[data]'"
        raise ModuleNotFoundError(text, name=error.name) from error
    return pa


def report_type() -> pa.DataType:
    """Return the type of the report column; ``datasets`` refuses maps, so rules are a list."""
    pa = import_pyarrow()
    rule = pa.struct([("code", pa.string()), ("count", pa.int32())])
    return pa.struct(
        [
            ("status", pa.string()),
            ("changes", pa.int32()),
            ("effect", pa.string()),
            ("rules", pa.list_(rule)),
            ("error", pa.string()),
        ]
    )


def report_value(result: RowResult) -> dict[str, Any]:
    """Return the value of the report column for a row."""
    return {
        "status": result.status,
        "changes": len(result.changes),
        "effect": result.effect,
        "rules": [{"code": code, "count": number} for code, number in result.rules.items()],
        "error": result.error,
    }


def format_of_table(
    table: pa.Table | pa.RecordBatch, *, column: str | None = None, layout: str | None = None
) -> Format | None:
    """Return the layout of a table; None if it has no rows, or no message in any.

    Args:
        table: the rows; the first whose cells are not null decides.
        column: the column with the messages, if its name is not that of a known layout.
        layout: the name of the layout, if it is known.

    Raises:
        LayoutError: the layout is unknown, or there is no such column.
    """
    if column is not None and column not in table.schema.names:
        raise LayoutError(f"no column {column!r}; the columns are {', '.join(table.schema.names)}")
    if layout is not None:
        return named(layout, column)
    failure: LayoutError | None = None
    for at in range(min(table.num_rows, BATCH_ROWS)):
        (row,) = table.slice(at, 1).to_pylist()
        try:
            return recognise(row) if column is None else Renamed.recognise(row, column)
        except LayoutError as error:
            failure = failure or error
    if failure is None:
        return None
    # No row has messages, so the types must do; then every row is set aside, with the reason.
    typical = {field.name: _typical(field.type) for field in table.schema}
    try:
        return recognise(typical) if column is None else Renamed.recognise(typical, column)
    except LayoutError:
        if _has_messages(table, column):
            raise failure from None
        return None


def _has_messages(table: pa.Table | pa.RecordBatch, column: str | None) -> bool:
    """Return whether a column that may hold messages has a value, or whether there is none."""
    known = {key for format_ in FORMATS.values() for key in format_.KEYS}
    names = [name for name in table.schema.names if name in known or name == column]
    return not names or any(table[name].null_count < table.num_rows for name in names)


def _typical(kind: pa.DataType) -> Any:  # noqa: ANN401 - a value of the type
    """Return a value of a type with a text in every field; None for other types."""
    types = import_pyarrow().types
    if is_list(kind):
        return [_typical(kind.value_type)]
    if types.is_struct(kind):
        return {kind.field(at).name: _typical(kind.field(at).type) for at in range(kind.num_fields)}
    return "" if types.is_string(kind) or types.is_large_string(kind) else None


def is_report(kind: pa.DataType) -> bool:
    """Return whether a type is that of a report column, as any engine may store it."""
    names = [field.name for field in report_type()]
    return import_pyarrow().types.is_struct(kind) and [field.name for field in kind] == names


def repair_batch(
    batch: pa.RecordBatch, format_: Format, repair: Callable[[Row, int], RowResult]
) -> tuple[pa.RecordBatch, list[RowResult]]:
    """Return a batch with repaired values in the same schema, and the outcome for each row.

    Args:
        batch: the rows.
        format_: their layout.
        repair: returns the outcome for a row without null keys, and its position in the batch.
    """
    keys = [key for key in format_.KEYS if key in batch.schema.names]
    columns = [values_of(batch.column(key)) for key in keys]
    cells = zip(*columns, strict=True) if keys else repeat((), batch.num_rows)
    rows: list[Row] = [dict(zip(keys, row, strict=True)) for row in cells]
    results = [repair(row, at) for at, row in enumerate(rows)]
    results = [
        _checked(row, result, batch.schema) if result.status == REPAIRED else result
        for row, result in zip(rows, results, strict=True)
    ]
    for key in keys:
        at = batch.schema.get_field_index(key)
        changed = {
            number: result.row[key]
            for number, (row, result) in enumerate(zip(rows, results, strict=True))
            if result.status == REPAIRED and result.row[key] is not row[key]
        }
        if changed:
            column = _with_values(batch.column(at), changed)
            batch = batch.set_column(at, batch.schema.field(at), column)
    return batch, results


def with_report(
    batch: pa.RecordBatch, results: Sequence[RowResult], name: str = REPORT
) -> pa.RecordBatch:
    """Return a batch with the report column added."""
    pa = import_pyarrow()
    values = pa.array(map(report_value, results), report_type(), size=len(results))
    return batch.append_column(name, values)


@dataclass(frozen=True, slots=True)
class TableRepair:
    """Repairs tables and streams of record batches with the same options."""

    settings: RowSettings
    column: str | None = None
    layout: str | None = None
    report: str = REPORT

    def table(self, table: pa.Table) -> pa.Table:
        """Return a table with repaired rows and the report column."""
        schema = self._schema(table.schema)
        done = list(self._repaired(table.to_batches()))
        return import_pyarrow().Table.from_batches(done, schema)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a record batch with repaired rows and the report column."""
        pa = import_pyarrow()
        table = self.table(pa.Table.from_batches([batch])).combine_chunks()
        columns = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type)
            for column in table.columns
        ]
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)

    def reader(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Return a reader that repairs each batch when it is read."""
        schema = self._schema(reader.schema)
        return import_pyarrow().RecordBatchReader.from_batches(schema, self._repaired(reader))

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the report column, which replaces an earlier one.

        Raises:
            LayoutError: there is another column with this name.
        """
        if self.report in schema.names:
            if not is_report(schema.field(self.report).type):
                raise LayoutError(
                    f"the table has a column {self.report!r} that is not a report; "
                    "choose another name for the report: report='repair'"
                )
            schema = schema.remove(schema.get_field_index(self.report))
        return schema.append(import_pyarrow().field(self.report, report_type()))

    def _repaired(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        format_: Format | None = None
        for whole in found:
            rest = whole.drop_columns([self.report]) if self.report in whole.schema.names else whole
            for start in range(0, rest.num_rows, BATCH_ROWS):
                batch = rest.slice(start, BATCH_ROWS)
                format_ = format_ or format_of_table(batch, column=self.column, layout=self.layout)
                # A batch without any message is quarantined, with any layout.
                yield self._batch(batch, format_ or FORMATS["messages"])

    def _batch(self, batch: pa.RecordBatch, format_: Format) -> pa.RecordBatch:
        def repair(row: Row, _: int) -> RowResult:
            return repair_row(row, format_, self.settings, has_nulls=False)

        return with_report(*repair_batch(batch, format_, repair), self.report)


def only(rows: _Kind, name: str) -> _Kind:
    """Return one column of a table or a batch, or of each batch of a reader."""
    pa = import_pyarrow()
    if not isinstance(rows, pa.RecordBatchReader):
        return rows.select([name])
    schema = pa.schema([rows.schema.field(name)])
    return pa.RecordBatchReader.from_batches(schema, (batch.select([name]) for batch in rows))


def take(rows: _Rows, numbers: list[int]) -> _Rows:
    """Return the rows with these numbers, of an array or a batch."""
    pa = import_pyarrow()
    try:
        return rows.take(pa.array(numbers, pa.int64()))
    except pa.ArrowNotImplementedError:  # views of texts, for example
        if isinstance(rows, pa.RecordBatch):
            columns = [take(column, numbers) for column in rows.columns]
            return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
        slices = [rows.slice(start, length) for start, length in _runs(numbers)]
        return pa.concat_arrays(slices) if slices else rows.slice(0, 0)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the start and length of each run of consecutive numbers."""
    starts = [at for at, number in enumerate(numbers) if at == 0 or numbers[at - 1] != number - 1]
    stops = [*starts[1:], len(numbers)]
    return [(numbers[at], stop - at) for at, stop in zip(starts, stops, strict=True)]


def _with_values(column: pa.Array, changed: dict[int, Any]) -> pa.Array:
    """Return a column in which some rows have other values."""
    pa = import_pyarrow()
    added = pa.array(list(changed.values()), column.type)
    indexes = list(range(len(column)))
    for position, number in enumerate(changed):
        indexes[number] = len(column) + position
    return take(pa.concat_arrays([column, added]), indexes)


def _checked(row: Row, result: RowResult, schema: pa.Schema) -> RowResult:
    """Return the outcome, quarantined if a repaired value does not fit the schema.

    Arrow silently drops keys that a struct lacks.
    """
    known = {id(item) for value in row.values() if isinstance(value, list) for item in value}
    for key, value in result.row.items():
        if value is row.get(key):
            continue
        if key not in schema.names:
            misfit: str | None = f"the table lacks the column {key!r}"
        else:
            misfit = misfit_of(value, schema.field(key), key, known)
        if misfit is not None:
            error = f"the repair does not fit the schema: {misfit}"
            return replace(result, row=row, status=QUARANTINED, error=error)
    return result
