"""TRL's pairs of answers: ``chosen`` and ``rejected``, with the prompt in a column or inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.formats.reading import is_chat
from chatmend.data.formats.splitting import repair_answers, repair_parts
from chatmend.data.rows import QuarantineError
from chatmend.jsontext import is_same
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.data.rows import Conversations

NAME = "trl-preference"
LAYOUT = "chosen and rejected: [{role, content}], with or without prompt"
_ANSWERS = ("chosen", "rejected")
KEYS = ("prompt", *_ANSWERS)


def matches(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a pair of answers that are lists of messages."""
    return all(is_chat(row.get(key)) for key in _ANSWERS)


def repair(row: dict[str, Any], conversations: Conversations) -> dict[str, Any]:
    """Repair both conversations so that they still share their prompt."""
    prompt = row.get("prompt")
    if isinstance(prompt, list):
        return repair_parts(row, "prompt", _ANSWERS, conversations)
    chosen, rejected = (row[key] for key in _ANSWERS)
    size = _shared_size(chosen, rejected)
    # TRL's `maybe_extract_prompt` ignores a text if the answers are whole conversations.
    if prompt is not None and size == 0:
        raise QuarantineError("the prompt is a text, but the answers are lists of messages")
    if size in (len(chosen), len(rejected)):
        raise QuarantineError("one of the answers is the beginning of the other")
    shared, answers = chosen[:size], [chosen[size:], rejected[size:]]
    prompt, ends = repair_answers(shared, answers, conversations)
    if prompt is shared and is_unchanged(ends, answers):
        return row
    wholes = {key: [*prompt, *end] for key, end in zip(_ANSWERS, ends, strict=True)}
    return {**row, **wholes}


def _shared_size(chosen: list[Any], rejected: list[Any]) -> int:
    """Return how many messages both conversations begin with."""
    pairs = enumerate(zip(chosen, rejected, strict=False))
    shortest = min(len(chosen), len(rejected))
    return next((at for at, (one, other) in pairs if not is_same(one, other)), shortest)
