"""Inspects GIF files.

A frame consists of blocks of at most 255 bytes, so the second frame can be found only by walking
through the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_PIECE = 4096
"""Bytes read at once."""
_FULL_BLOCK = 256
"""The length byte and the 255 bytes of a full block. Nearly all blocks of a frame are full."""


def probe_gif(reader: Reader) -> Probe:
    """Return size, frames and transparency. An intact file ends with the end marker."""
    head = reader.read_at(0, 13)
    probe = Probe("gif", lossless=True)
    if len(head) < 13:  # noqa: PLR2004 - the screen descriptor
        probe.fault = "truncated"
        return probe
    probe.width, probe.height = (
        int.from_bytes(head[6:8], "little"),
        int.from_bytes(head[8:10], "little"),
    )
    at, images = 13 + _colour_table_size(head[10]), 0
    while True:
        block = reader.read_at(at, 10)
        mark = block[0] if block else 0
        if mark == _IMAGE:
            images += 1
            if images > 1 or len(block) < 10:  # noqa: PLR2004 - the image descriptor
                break
            at = _skip_blocks(reader, at + 11 + _colour_table_size(block[9]))
        elif mark == _EXTENSION and len(block) > 3:  # noqa: PLR2004 - kind and flags
            # 0xF9 marks a graphic control extension; its lowest flag means transparency.
            probe.alpha = probe.alpha or (block[1] == 0xF9 and bool(block[3] & 1))  # noqa: PLR2004
            at = _skip_blocks(reader, at + 2)
        else:
            break
    probe.frames = 2 if images > 1 else 1
    if not probe.width or not probe.height or not images:
        probe.fault = "truncated" if at >= reader.size else "corrupt"
    elif b";" not in reader.read_tail(16):
        probe.fault = "truncated"
    return probe


def _colour_table_size(flags: int) -> int:
    """Return the length of a colour table in bytes."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_blocks(reader: Reader, at: int) -> int:
    """Return the position after a sequence of blocks.

    Each piece of the data is decoded only once, even if the blocks are small.
    """
    while at < reader.size:
        piece = reader.read_available(at, _PIECE)
        inside = 0
        while inside < len(piece):
            length = piece[inside]
            if not length:
                return at + inside + 1
            inside += length + 1 if length < _FULL_BLOCK - 1 else _full_blocks(piece, inside)
        at += inside
    return at


def _full_blocks(piece: bytes, at: int) -> int:
    """Return the length in bytes of the full blocks from a position."""
    lengths = piece[at::_FULL_BLOCK]
    return (len(lengths) - len(lengths.lstrip(b"\xff"))) * _FULL_BLOCK
