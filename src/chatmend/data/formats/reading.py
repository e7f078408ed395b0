"""Reads values that may be stored as JSON in a text, and writes them back in the same form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Callable

_JSON_STARTS = ("{", "[")


def load(value: Any) -> Any:  # noqa: ANN401 - any stored value
    """Return the value of a JSON text of an object or list; other values unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(_JSON_STARTS):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def change(row: dict[str, Any], key: str, edit: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a row with ``row[key]`` edited; the same row if ``edit`` returns its argument.

    A JSON text is parsed for ``edit``, and the result is stored as JSON text again.
    """
    held = row[key]
    value = load(held)
    new = edit(value)
    if new is value:
        return row
    is_text = isinstance(held, str)
    return {**row, key: json.dumps(new, ensure_ascii=False) if is_text else new}


def is_chat(value: object) -> bool:
    """Return whether a value is a list of objects of which one of the first has a role."""
    if not isinstance(value, list):
        return False
    for item in value:
        if not isinstance(item, dict):
            return False
        if item.get("role") is not None:
            return True
    return False


def is_list_of_objects(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list that begins with an object."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
