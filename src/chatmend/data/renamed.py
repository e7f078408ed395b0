"""A layout whose messages are in a column with another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats import FORMATS, describe_layouts, format_named
from chatmend.data.rows import QuarantineError
from chatmend.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.formats import Format
    from chatmend.data.rows import Conversations

_NAMES = ("messages", "conversations", "inputs", "body")
"""The usual names of the columns, under which a value is tried."""


class Renamed:
    """Presents one column of a row to a layout under its usual name."""

    def __init__(self, inner: Format, column: str, name: str = "") -> None:
        """Read the column as the layout reads ``name``, by default its first key."""
        self.NAME, self.LAYOUT = inner.NAME, inner.LAYOUT
        self.KEYS: tuple[str, ...] = (column,)
        self._inner, self.column, self.usual_name = inner, column, name or inner.KEYS[0]

    @classmethod
    def recognise(cls, row: Mapping[str, Any], column: str) -> Renamed:
        """Return the layout of the value in a column.

        Raises:
            LayoutError: the value has no known layout.
        """
        for name in _NAMES:
            for known in FORMATS.values():
                if name in known.KEYS and known.matches({name: row.get(column)}):
                    return cls(known, column, name)
        raise LayoutError(f"the column {column!r} has no known layout; {describe_layouts()}")

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return whether the value in the column has the layout."""
        return self._inner.matches({self.usual_name: row.get(self.column)})

    def repair(self, row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
        """Repair the value in the column."""
        given = {self.usual_name: row[self.column]}
        done = self._inner.repair(given, conversations)
        if done is given:
            return row
        if len(done) > 1:
            raise QuarantineError("the repair needs another column, for the system prompt")
        return {**row, self.column: done[self.usual_name]}


def named(layout: str, column: str | None) -> Format:
    """Return the layout with a name, whose messages may be in another column.

    Raises:
        LayoutError: there is no such layout.
    """
    known = format_named(layout)
    return known if column is None else Renamed(known, column)
