"""Repairs a prompt with each of its answers, and splits the results where the prompt ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.data.rows import QuarantineError
from chatmend.jsontext import is_same
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.data.rows import Conversations


def repair_parts(
    row: dict[str, Any], prompt_key: str, answer_keys: Iterable[str], conversations: Conversations
) -> dict[str, Any]:
    """Repair a prompt and its answers, stored in separate columns.

    Raises:
        QuarantineError: a repair moves content across the end of the prompt.
    """
    prompt = _messages(row, prompt_key)
    answers = {key: _messages(row, key) for key in answer_keys}
    repaired, ends = repair_answers(prompt, answers.values(), conversations)
    becomes = {prompt_key: repaired, **dict(zip(answers, ends, strict=True))}
    changed = {key: value for key, value in becomes.items() if value is not row[key]}
    return {**row, **changed} if changed else row


def repair_answers(
    prompt: list[Any], answers: Iterable[list[Any]], conversations: Conversations
) -> tuple[list[Any], list[list[Any]]]:
    """Return the repaired prompt and answers; unchanged lists are the same objects.

    Raises:
        QuarantineError: a repair moves content across the end of the prompt.
    """
    answers = list(answers)
    wholes = [conversations.repair([*prompt, *answer]) for answer in answers]
    conversations.count_once()  # the changes of the prompt, which every repair has made
    if all(
        is_unchanged(whole, [*prompt, *answer])
        for whole, answer in zip(wholes, answers, strict=True)
    ):
        return prompt, answers
    start = conversations.preview(prompt) if prompt else prompt
    size = len(start)
    if not all(is_same(whole[:size], start) and len(whole) > size for whole in wholes):
        raise QuarantineError("the repair moves content across the end of the prompt")
    ends = [whole[size:] for whole in wholes]
    return (
        prompt if is_unchanged(start, prompt) else start,
        [
            answer if is_unchanged(end, answer) else end
            for end, answer in zip(ends, answers, strict=True)
        ],
    )


def _messages(row: dict[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if not isinstance(value, list) or not value:
        raise QuarantineError(f"{key!r} is empty or not a list of messages")
    return value
