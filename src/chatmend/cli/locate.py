"""Finds positions in a file: findings, and the messages that contain an id from an error text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chatmend.cli.conversation import (
    NoConversationError,
    RunSettings,
    UnreadableConversationError,
    conversation_in,
    process_conversation,
)
from chatmend.cli.depth import deep_values
from chatmend.cli.sources import InputFile, blocks
from chatmend.cli.unpacking import plain
from chatmend.refusals.positions import ids_absent, ids_in, ids_named
from chatmend.sessions.stored import messages_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.cli.conversation import Finding


@dataclass(slots=True)
class Located:
    """What was found in one conversation."""

    title: str
    findings: tuple[Finding, ...] = ()
    ids: dict[str, list[int]] = field(default_factory=dict)
    """Ids that the text contains, with the indices of the messages that contain them."""
    absent: tuple[str, ...] = ()
    """Ids that the text contains and no message."""
    messages: int = 0
    """The number of messages."""
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
    with (
        plain(InputFile(path, path, found=False)) as source,
        source.plain_path.open("rb") as file,
    ):
        number = 0
        for block in blocks(source, file):
            for raw in block.pieces(file, lines=source.has_lines):
                number += 1
                if raw.strip() or not source.has_lines:
                    yield _locate_in(source.title(number), raw, settings, text)


def _locate_in(title: str, raw: bytes, settings: RunSettings, text: str) -> Located:
    try:
        with deep_values():
            findings = process_conversation(raw, settings).findings
            messages = messages_of(conversation_in(raw)) or []
            return Located(
                title,
                findings,
                dict(ids_named(messages, text)),
                tuple(ids_absent(messages, ids_in(text))),
                len(messages),
            )
    except (NoConversationError, UnreadableConversationError) as error:
        return Located(title, error=str(error))
