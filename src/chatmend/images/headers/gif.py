"""GIF: blocks of at most 255 bytes, so the second frame is found only by walking through the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_PIECE = 4096
"""Bytes looked at together."""
_FULL = 256
"""A block's length byte and 255 bytes: what nearly all blocks of a frame are."""


def look(reader: Reader) -> Probe:
    """Size, frames, transparency; whole when it ends with the end mark."""
    head = reader.at(0, 13)
    probe = Probe("gif", lossless=True)
    if len(head) < 13:  # noqa: PLR2004 - the screen descriptor
        probe.fault = "truncated"
        return probe
    probe.width, probe.height = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    at, images = 13 + _table(head[10]), 0
    while True:
        block = reader.at(at, 10)
        mark = block[0] if block else 0
        if mark == _IMAGE:
            images += 1
            if images > 1 or len(block) < 10:  # noqa: PLR2004 - the image descriptor
                break
            at = _skip(reader, at + 11 + _table(block[9]))
        elif mark == _EXTENSION and len(block) > 3:  # noqa: PLR2004 - kind and flags
            probe.alpha = probe.alpha or (block[1] == 0xF9 and bool(block[3] & 1))  # noqa: PLR2004 - graphic control
            at = _skip(reader, at + 2)
        else:
            break
    probe.frames = 2 if images > 1 else 1
    if not probe.width or not probe.height or not images:
        probe.fault = "truncated" if at >= reader.size else "corrupt"
    elif b";" not in reader.tail(16):
        probe.fault = "truncated"
    return probe


def _table(flags: int) -> int:
    """The length of a colour table."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip(reader: Reader, at: int) -> int:
    """The position after a run of blocks. Each piece of the data is decoded once, however small its blocks are."""
    while at < reader.size:
        piece = reader.some(at, _PIECE)
        inside = 0
        while inside < len(piece):
            length = piece[inside]
            if not length:
                return at + inside + 1
            inside += length + 1 if length < _FULL - 1 else _full(piece, inside)
        at += inside
    return at


def _full(piece: bytes, at: int) -> int:
    """The length of a run of full blocks."""
    lengths = piece[at::_FULL]
    return (len(lengths) - len(lengths.lstrip(b"\xff"))) * _FULL
