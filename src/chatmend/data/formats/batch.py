"""Logs of requests: batches of OpenAI (``body``) and Anthropic (``params``), and gateway logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import change, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "batch"
LAYOUT = "body or params: {model, messages}"
KEYS = ("body", "params", "request")
_LISTS = ("messages", "input", "contents")


def _key(row: Mapping[str, Any]) -> str | None:
    return next((key for key in KEYS if is_request(load(row.get(key)))), None)


def is_request(value: object) -> bool:
    """Return whether a value is a request body with a list of messages."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _LISTS)


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a request body."""
    return _key(row) is not None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the request body with its system prompt and tools."""
    return change(row, _key(row) or KEYS[0], conversations.repair_request)
