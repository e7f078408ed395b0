"""Finds positions in a file: findings, and the messages that contain an id from an error text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chatmend.cli.conversation import (
    NoConversationError,
    RunSettings,
    UnreadableConversationError,
    messages_of,
    parse_conversation,
    process_conversation,
)
from chatmend.cli.depth import deep_values
from chatmend.cli.sources import InputFile, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.cli.conversation import Finding
    from chatmend.cli.json_text import Conversation

_ID_KEYS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id"})
_MIN_ID_LENGTH = 2
"""Shorter ids are not searched, because they would match by accident."""


@dataclass(slots=True)
class Located:
    """What was found in one conversation."""

    title: str
    findings: tuple[Finding, ...] = ()
    ids: dict[str, list[int]] = field(default_factory=dict)
    """Ids that the text contains, with the indices of the messages that contain them."""
    error: str = ""


def locate(path: Path, settings: RunSettings, text: str) -> Iterator[Located]:
    """Search the conversations of a file in order.

    Args:
        path: the file.
        settings: the target and the policy.
        text: the error text of the provider, or the code or name of a rule.

    Raises:
        OSError: the file cannot be opened.
    """
    source = InputFile(path, path, found=False)
    with path.open("rb") as file:
        number = 0
        for block in blocks(source, file):
            for raw in block.pieces(file, lines=source.has_lines):
                number += 1
                if raw.strip() or not source.has_lines:
                    yield _locate_in(source.title(number), raw, settings, text)


def _locate_in(title: str, raw: bytes, settings: RunSettings, text: str) -> Located:
    try:
        with deep_values():
            return Located(
                title,
                process_conversation(raw, settings).findings,
                dict(_ids_in_text(parse_conversation(raw), text)),
            )
    except (NoConversationError, UnreadableConversationError) as error:
        return Located(title, error=str(error))


def _ids_in_text(conversation: Conversation, text: str) -> Iterator[tuple[str, list[int]]]:
    indices_by_id: dict[str, list[int]] = {}
    for index, message in enumerate(messages_of(conversation) or ()):
        for found in dict.fromkeys(_ids(message)):
            indices_by_id.setdefault(found, []).append(index)
    for found, indices in indices_by_id.items():
        if len(found) >= _MIN_ID_LENGTH and found in text:
            yield found, indices


def _ids(message: object) -> Iterator[str]:
    stack = [message]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from (
                value for key, value in item.items() if key in _ID_KEYS and isinstance(value, str)
            )
            stack += item.values()
        elif isinstance(item, list):
            stack += item
