"""The layouts of stored conversations, one per file: reads rows and writes them back in kind.

A new layout is one file with the names of ``Format``, and one line in ``FORMATS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from chatmend.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations


class Format(Protocol):
    """The interface of a layout."""

    NAME: str
    LAYOUT: str
    """The keys that identify it, for people: ``conversations: [{from, value}]``."""
    KEYS: tuple[str, ...]
    """The keys of a row that are read; other columns of a table are not converted."""

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row has this layout."""

    def repair(self, row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
        """Return the repaired row; the same object if nothing changed.

        Raises:
            QuarantineError: the row cannot be repaired in this layout.
        """


def _load(*names: str) -> dict[str, Format]:
    """Import layouts from the files with these names."""
    modules = [cast("Format", import_module(f"{__name__}.{name}")) for name in names]
    return {module.NAME: module for module in modules}


FORMATS = _load(
    "litellm_spend_logs",  # before messages: its rows have messages too
    "langsmith",
    "langfuse",
    "batch",
    "openai_preference",
    "trl_preference",
    "trl_prompt_completion",
    "sharegpt",  # before messages, which reads conversations with roles
    "ms_swift",  # before messages, which does not know its roles
    "messages",
)
"""The layouts in the order in which they are tried."""


def recognise(row: Mapping[str, Any]) -> Format:
    """Return the layout of a row.

    Raises:
        LayoutError: no layout matches.
    """
    for known in FORMATS.values():
        if known.matches(row):
            return known
    keys = ", ".join(map(repr, row)) or "none"
    raise LayoutError(f"unknown layout with the columns {keys}; {describe_layouts()}")


def format_named(name: str) -> Format:
    """Return the layout with a name.

    Raises:
        LayoutError: there is none.
    """
    if name not in FORMATS:
        raise LayoutError(f"unknown layout {name!r}; {describe_layouts()}")
    return FORMATS[name]


def describe_layouts() -> str:
    """Return the known layouts in one line, for errors and ``--help``."""
    listed = "; ".join(f"{known.NAME} ({known.LAYOUT})" for known in FORMATS.values())
    return f"known layouts: {listed}"
