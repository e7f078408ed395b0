"""Messages as they are stored, and how far two transcripts are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sessions.blocks import block
from chatmend.sessions.markers import KEY_HINT, PART_HINT, without_markers
from chatmend.sessions.together import written

if TYPE_CHECKING:
    from collections.abc import Sequence


def rendered(messages: Sequence[Any]) -> tuple[list[bytes], list[Any]]:
    """The blocks of messages without their cache markers, and the markers.

    Raises:
        TranscriptError: a message cannot be stored.
    """
    done = written(messages)
    blocks, marked = done if done is not None else ([block(message) for message in messages], True)
    markers: list[Any] = []
    for at, made in enumerate(blocks if marked else ()):
        if KEY_HINT in made or PART_HINT in made:
            bare, taken = without_markers(messages[at], at)
            markers += taken
            blocks[at] = block(bare) if taken else made
    return blocks, markers


def first_difference(blocks: Sequence[bytes], sent: Sequence[bytes]) -> int:
    """How many messages two transcripts share from the front."""
    pairs = enumerate(zip(blocks, sent, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(blocks), len(sent)))
