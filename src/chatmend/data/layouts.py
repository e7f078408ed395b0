"""Finds the layout of each row of a list, whose rows may have different ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chatmend.data.formats import recognise
from chatmend.data.renamed import Renamed
from chatmend.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.data.formats import Format
    from chatmend.data.rows import Row

MOST_UNKNOWN = 1024
"""Rows that wait for the first one with a known layout."""


def with_layouts(
    rows: Iterable[Row], known: Format | None = None, column: str | None = None
) -> Iterator[tuple[Row, Format]]:
    """Yield each row with its layout.

    A row without a known layout gets that of the row before it, or of the first that has one, and
    does not match it. Rows before the first with a layout wait for it.

    Args:
        rows: the rows.
        known: the layout of all rows, if it is known.
        column: the column with the messages, if its name is unusual.

    Raises:
        LayoutError: none of the first ``MOST_UNKNOWN`` rows has a known layout.
    """
    waiting: list[Row] = []
    failure: LayoutError | None = None
    current = known
    for row in rows:
        if current is None or (known is None and not _matches(row, current)):
            try:
                current = _layout_of(row, column)
            except LayoutError as error:
                failure = failure or error
        if current is not None:
            yield from ((early, current) for early in waiting)
            waiting.clear()
            yield row, current
        elif len(waiting) < MOST_UNKNOWN:
            waiting.append(row)
        else:
            break
    if waiting and failure is not None:
        raise failure


def _matches(row: object, layout: Format) -> bool:
    return isinstance(row, Mapping) and layout.matches(row)


def _layout_of(row: object, column: str | None) -> Format:
    if not isinstance(row, Mapping):
        raise LayoutError(f"a row is not an object but a {type(row).__name__}")
    return recognise(row) if column is None else Renamed.recognise(row, column)
