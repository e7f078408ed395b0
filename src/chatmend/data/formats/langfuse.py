"""Observations of Langfuse: ``input`` with messages, as JSON or, in CSV files, as a JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.logged import is_logged_input, repair_input
from chatmend.data.formats.reading import change, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "langfuse"
LAYOUT = "input: messages or {messages}, with traceId or trace_id"
_TRACES = ("traceId", "trace_id")
KEYS = ("input", *_TRACES)


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an observation with the messages of a model call as its input."""
    return any(row.get(key) is not None for key in _TRACES) and is_logged_input(
        load(row.get("input"))
    )


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the messages of the input; the output stays unchanged."""
    return change(row, "input", lambda given: repair_input(given, conversations))
