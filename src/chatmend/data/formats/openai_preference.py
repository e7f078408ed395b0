"""OpenAI's preference files: ``input`` with messages, and two outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import is_chat
from chatmend.data.formats.splitting import repair_answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "openai-preference"
LAYOUT = "input: {messages}, preferred_output and non_preferred_output: [{role, content}]"
_OUTPUTS = ("preferred_output", "non_preferred_output")
KEYS = ("input", *_OUTPUTS)


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has an input and a pair of outputs."""
    given = row.get("input")
    return (
        isinstance(given, dict)
        and is_chat(given.get("messages"))
        and all(is_chat(row.get(key)) for key in _OUTPUTS)
    )


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair the input with each output."""
    given, outputs = row["input"], [row[key] for key in _OUTPUTS]
    prompt, ends = repair_answers(given["messages"], outputs, conversations)
    changed: dict[str, Any] = {
        key: end for key, end, old in zip(_OUTPUTS, ends, outputs, strict=True) if end is not old
    }
    if prompt is not given["messages"]:
        changed["input"] = {**given, "messages": prompt}
    return {**row, **changed} if changed else row
