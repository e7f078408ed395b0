"""ShareGPT: ``conversations`` of turns with ``from`` and ``value``.

A call of a tool is the JSON text of ``{"name", "arguments"}``, or of a list of these, and has no
id. Its result is the next turn from ``observation`` or ``tool``. Turns without a repair stay
unchanged, with the names that the data set uses for its roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import is_list_of_objects
from chatmend.data.formats.turns import TurnKeys, repair_turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "sharegpt"
LAYOUT = "conversations: [{from, value}]"
_LISTS = ("conversations", "conversation", "messages")
KEYS = (*_LISTS, "system")
_TURNS = TurnKeys("from", "value", "human", "gpt", "function_call", "observation")


def _key(row: Mapping[str, Any]) -> str | None:
    for key in _LISTS:
        turns = row.get(key)
        if is_list_of_objects(turns) and any(
            isinstance(turn, dict) and "from" in turn for turn in turns
        ):
            return key
    return None


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a list of turns with ``from``."""
    return _key(row) is not None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the turns as messages; turns whose message is unchanged are the same objects."""
    key = _key(row) or _LISTS[0]
    becomes = repair_turns(row[key], _TURNS, conversations)
    return row if becomes is row[key] else {**row, key: becomes}
