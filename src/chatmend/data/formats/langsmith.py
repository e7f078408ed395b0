"""Runs of LangSmith: ``inputs`` with the messages of a model call, as JSON or as a JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.logged import is_logged_input, repair_input
from chatmend.data.formats.reading import change, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "langsmith"
LAYOUT = "inputs: {messages}, as in exported runs and data sets"
KEYS = ("inputs",)


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has inputs with messages."""
    inputs = load(row.get("inputs"))
    return isinstance(inputs, dict) and is_logged_input(inputs)


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the messages of the inputs; the outputs stay unchanged."""
    return change(row, "inputs", lambda inputs: repair_input(inputs, conversations))
