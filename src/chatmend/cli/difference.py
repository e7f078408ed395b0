"""Shows the differences between a conversation and its repaired form, message by message."""

from __future__ import annotations

import json
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING

from chatmend.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sessions.stored import Conversation


def difference(old: Conversation, new: Conversation) -> str:
    """Return the changes as hunks like those of ``diff -u``.

    The header of each hunk names the position of its first message.
    """
    old = {"messages": old} if isinstance(old, list) else old
    new = {"messages": new} if isinstance(new, list) else new
    return "".join(
        hunk
        for key, value in new.items()
        if value is not (before := old.get(key))
        for hunk in _hunks(key, before, value)
    )


def text_difference(old: list[str], new: list[str]) -> str:
    """Return the differences between the lines of two texts."""
    return "".join(f"{line}\n" for line in list(unified_diff(old, new, lineterm="", n=3))[2:])


def _hunks(name: str, old: object, new: object) -> Iterator[str]:
    if not isinstance(old, list) or not isinstance(new, list):
        yield _hunk(name, [] if old is None else [old], [new])
        return
    # Unchanged messages are the same objects, so it is sufficient to compare identities.
    matcher = SequenceMatcher(
        None, [id(item) for item in old], [id(item) for item in new], autojunk=False
    )
    for tag, start, stop, to_start, to_stop in matcher.get_opcodes():
        if tag != "equal":
            yield _hunk(f"{name}[{start}]", old[start:stop], new[to_start:to_stop])


def _hunk(name: str, old: list[object], new: list[object]) -> str:
    lines = unified_diff(_lines(old), _lines(new), lineterm="", n=3)
    body = [line for line in list(lines)[2:] if not line.startswith("@@")]
    return "".join(f"{line}\n" for line in [f"@@ {name} @@", *body])


def _lines(values: list[object]) -> list[str]:
    return [line for value in values for line in _indented_json(value).split("\n")]


def _indented_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (RecursionError, TypeError, ValueError):
        return dumps(value)
