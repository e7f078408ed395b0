"""The report for machines: JSON with a versioned schema, described in docs/report.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.hostile_values import reports_hostile_values
from chatmend.report.lines import deed, is_left

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change
    from chatmend.transcript import Native

SCHEMA = "chatmend.report"
VERSION = 1
"""Increased when a key is removed or changes its meaning, not when a key is added."""


def to_json(changes: Iterable[Change], *, content: bool = True) -> str:
    """Return the changes as one JSON text in ASCII.

    Without ``content`` it contains no messages of the transcript.
    """
    items = [to_data(change, content=content) for change in changes]
    return json.dumps({"schema": SCHEMA, "version": VERSION, "changes": items}, allow_nan=False)


@reports_hostile_values
def to_data(change: Change, *, content: bool = True) -> dict[str, Any]:
    """Return one change as a dict of JSON values."""
    data: dict[str, Any] = {
        "code": change.code,
        "rule": change.rule,
        "effect": change.effect.name.lower(),
        "where": change.where,
        "index": change.index,
        "window": None if change.window is None else list(change.window),
        "at": change.at,
        "why": change.why,
        "deed": deed(change),
        "applied": change.applied,
        "left": is_left(change),
        "invalidates_thinking": change.invalidates_thinking,
    }
    if content:
        data["before"] = list(map(_as_json, change.before))
        data["after"] = list(map(_as_json, change.after))
    return data


def _as_json(native: Native) -> object:
    """Return a native object as JSON values, or as text if JSON cannot represent it."""
    if hasattr(native, "model_dump"):
        native = native.model_dump(mode="json")
    try:
        return json.loads(json.dumps(native, allow_nan=False))
    except (RecursionError, TypeError, ValueError):
        return jsontext.dumps(native)
