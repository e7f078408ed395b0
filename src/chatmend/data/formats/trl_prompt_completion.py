"""TRL's ``prompt`` and ``completion``: a conversation that is split where the answer begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import is_chat
from chatmend.data.formats.splitting import repair_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "trl-prompt-completion"
LAYOUT = "prompt and completion: [{role, content}]"
KEYS = ("prompt", "completion", "chosen", "rejected")


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a prompt, and no pair of answers."""
    return is_chat(row.get("prompt")) and row.get("chosen") is None and row.get("rejected") is None


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the whole conversation, and split it where the prompt ended."""
    if row.get("completion") is None:
        done = conversations.repair(row["prompt"])
        return row if done is row["prompt"] else {**row, "prompt": done}
    return repair_parts(row, "prompt", ("completion",), conversations)
