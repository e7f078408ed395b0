"""A dialogue: a list of texts, in which the user and the assistant alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.rows import QuarantineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "dialogue"
LAYOUT = "dialogue: [text]"
KEYS = ("dialogue",)
_ROLES = ("user", "assistant")


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a list of texts."""
    return isinstance(row.get("dialogue"), list)


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the texts as messages."""
    messages = [
        {"role": _ROLES[at % 2], "content": text} for at, text in enumerate(row["dialogue"])
    ]
    done = conversations.repair(messages)
    if done is messages:
        return row
    if [message["role"] for message in done] != [message["role"] for message in messages]:
        raise QuarantineError("a dialogue cannot hold the repaired messages")
    return {**row, "dialogue": [message["content"] for message in done]}
