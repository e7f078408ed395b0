"""Repairs training data and stored conversations: Arrow tables and lists of rows, at any size.

    from chatmend.data import repair_table

    table = repair_table(table, target="hosted_vllm/Qwen/Qwen3-8B")

Tables need pyarrow: ``pip install 'chatmend[data]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.data import arrow
from chatmend.data.change_table import changes_to_table, recorded_rows
from chatmend.data.layouts import with_layouts
from chatmend.data.renamed import named
from chatmend.data.replaying import replay_row
from chatmend.data.rows import (
    Conversations,
    QuarantineError,
    RowResult,
    make_settings,
    repair_row,
)
from chatmend.errors import LayoutError, ReplayError, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from chatmend.data.formats import Format
    from chatmend.data.rows import Row, RowSettings
    from chatmend.policy import Policy
    from chatmend.targets import Target

    Rows = TypeVar("Rows", pa.Table, pa.RecordBatch, pa.RecordBatchReader)

    PolicyChoice = Policy | str | Mapping[str, Any] | None


def repair_table(  # noqa: PLR0913 - options are keywords
    table: Rows,
    *,
    target: str | Target,
    column: str | None = None,
    purpose: str = "train",
    policy: PolicyChoice = None,
    incomplete: str = "repair",
    layout: str | None = None,
    report: str = arrow.REPORT,
) -> Rows:
    """Repair the conversations in an Arrow table, batch or reader; rows and schema stay the same.

    The result has the type of the argument. A reader is repaired while it is read.

    A report column is added: a struct of ``status`` (``valid``, ``repaired`` or ``quarantined``),
    the number of ``changes``, the strongest ``effect``, ``rules`` with their counts, and the
    ``error`` of a quarantined row. Valid and quarantined rows keep their values.

    Args:
        table: the rows. Keys of messages that are null are treated as absent.
        target: the model that the rows are for, as in ``chatmend.repair``.
        column: the column with the messages; recognised from the names and values if not given.
        purpose: ``train``: the last answer stays the end, and thinking is kept; ``serve``: the
            conversations are sent to the target.
        policy: other choices between repairs: a policy, its name, or a dict of fields that differ
            from the policy of the purpose, such as ``{"images": "fit"}``.
        incomplete: what becomes of a row with a call without a result, or a result without a call:
            ``repair`` adds a placeholder or converts the result to text; ``quarantine`` keeps the
            original.
        layout: the name of the layout; recognised from the first row if not given.
        report: the name of the report column. An earlier report of the same name is replaced.

    Raises:
        LayoutError: no known layout matches; the text lists them. Or ``report`` is the name of
            another column.
        TargetError: the target is unknown.
        PolicyError: an option has an invalid value.
        TranscriptError: ``table`` is not an Arrow table, record batch or record batch reader.
    """
    settings = make_settings(target, purpose=purpose, policy=policy, incomplete=incomplete)
    pa = arrow.import_pyarrow()
    if not isinstance(table, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        text = (
            f"expected a pyarrow Table, RecordBatch or RecordBatchReader, not "
            f"{type(table).__name__}; pass a list of dicts to repair_rows"
        )
        raise TranscriptError(text)
    repair = arrow.TableRepair(settings, column, layout, report)
    if isinstance(table, pa.RecordBatchReader):
        return repair.reader(table)
    if isinstance(table, pa.RecordBatch):
        return repair.batch(table)
    return repair.table(table)


def check_table(table: Rows, *, report: str = arrow.REPORT, **options: Any) -> Rows:  # noqa: ANN401 - the options of repair_table
    """Return only the report column of ``repair_table``; takes its arguments."""
    done = repair_table(table, report=report, **options)
    return arrow.only(done, report)


def repair_rows(  # noqa: PLR0913 - options are keywords
    rows: Iterable[Row],
    *,
    target: str | Target,
    column: str | None = None,
    purpose: str = "train",
    policy: PolicyChoice = None,
    incomplete: str = "repair",
    layout: str | None = None,
) -> Iterator[RowResult]:
    """Repair rows that are dicts, one after the other; yields a ``RowResult`` for each.

    A valid row is yielded as the same object. Rows may have different layouts: each is recognised
    from its keys, unless ``layout`` names one for all. A row without a known layout, such as one
    whose messages are null, is quarantined. The other arguments are those of ``repair_table``.

    Raises:
        LayoutError: none of the first 1,024 rows has a known layout; the text lists them.
        TargetError: the target is unknown.
        PolicyError: an option has an invalid value.
    """
    settings = make_settings(target, purpose=purpose, policy=policy, incomplete=incomplete)
    known = None if layout is None else named(layout, column)
    return _repair_rows(rows, known, column, settings)


def _repair_rows(
    rows: Iterable[Row], known: Format | None, column: str | None, settings: RowSettings
) -> Iterator[RowResult]:
    for row, layout in with_layouts(rows, known, column):
        yield repair_row(row, layout, settings)


def changes_table(results: Iterable[RowResult]) -> pa.Table:
    """Return the changes of rows as an Arrow table, with one row per change, for ``replay_rows``.

    The column ``row`` has the position of the row in ``results``. ``before`` and ``after`` are JSON
    texts of the messages. A quarantined row without a change has one row whose ``code`` is null.
    Needs pyarrow.
    """
    return changes_to_table(enumerate(results))


def replay_rows(
    rows: Iterable[Row],
    changes: pa.Table,
    *,
    column: str | None = None,
    layout: str | None = None,
) -> Iterator[RowResult]:
    """Apply recorded changes to rows; yields what ``repair_rows`` has yielded for them.

    No rule runs, so a target and a policy are not needed.

    Args:
        rows: the original rows.
        changes: their changes: a table of ``changes_table``, or one file of the table that
            ``chatmend data --changes`` writes.
        column: the column with the messages, as in the repair.
        layout: the name of the layout, as in the repair.

    Raises:
        ReplayError: a change does not match its row.
        LayoutError: none of the first 1,024 rows has a known layout.
    """
    recorded = recorded_rows(changes)
    known = None if layout is None else named(layout, column)
    for at, (row, format_) in enumerate(with_layouts(rows, known, column)):
        try:
            yield replay_row(row, format_, recorded.get(at))
        except ReplayError as error:
            raise ReplayError(f"row {at}: {error}") from error


__all__ = [
    "Conversations",
    "LayoutError",
    "QuarantineError",
    "RowResult",
    "changes_table",
    "check_table",
    "repair_rows",
    "repair_table",
    "replay_rows",
]
