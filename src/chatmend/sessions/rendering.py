"""Renders messages in their stored form, and compares stored transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sessions.batch import try_write
from chatmend.sessions.blocks import render_block
from chatmend.sessions.markers import KEY_HINT, PART_HINT, without_markers

if TYPE_CHECKING:
    from collections.abc import Sequence


def render_messages(messages: Sequence[Any]) -> tuple[list[bytes], list[Any]]:
    """Return the blocks of messages without cache markers, and the markers.

    Raises:
        TranscriptError: a message cannot be stored.
    """
    done = try_write(messages)
    blocks, may_be_marked = (
        done if done is not None else ([render_block(message) for message in messages], True)
    )
    markers: list[Any] = []
    for index, block in enumerate(blocks if may_be_marked else ()):
        if KEY_HINT in block or PART_HINT in block:
            bare, removed = without_markers(messages[index], index)
            markers += removed
            blocks[index] = render_block(bare) if removed else block
    return blocks, markers


def shared_prefix_length(blocks: Sequence[bytes], sent: Sequence[bytes]) -> int:
    """Return the number of equal messages at the start of two transcripts."""
    pairs = enumerate(zip(blocks, sent, strict=False))
    return next(
        (index for index, (one, other) in pairs if one != other), min(len(blocks), len(sent))
    )
