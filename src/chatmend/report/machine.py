"""The report for machines: JSON with a version, described in docs/report.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.report.lines import deed, is_left

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change
    from chatmend.transcript import Native

SCHEMA = "chatmend.report"
VERSION = 1
"""Raised when a key goes or changes its meaning; not when one is added."""


def to_json(changes: Iterable[Change], *, content: bool = True) -> str:
    """The changes as one JSON text in ASCII; without ``content`` it holds no word of the transcript."""
    told = [as_data(change, content=content) for change in changes]
    return json.dumps({"schema": SCHEMA, "version": VERSION, "changes": told}, allow_nan=False)


def as_data(change: Change, *, content: bool = True) -> dict[str, Any]:
    """One change as JSON values."""
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
        data["before"] = list(map(_plain, change.before))
        data["after"] = list(map(_plain, change.after))
    return data


def _plain(native: Native) -> object:
    """A native object as JSON values; text that tells of it where JSON has no word for it."""
    if hasattr(native, "model_dump"):
        native = native.model_dump(mode="json")
    try:
        return json.loads(json.dumps(native, allow_nan=False))
    except (RecursionError, TypeError, ValueError):
        return jsontext.dumps(native)
