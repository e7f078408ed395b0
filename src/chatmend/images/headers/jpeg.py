"""JPEG: a chain of segments before the scan, ITU-T T.81."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe
from chatmend.images.headers.exif import orientation

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_FRAMES = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_LOSSLESS = frozenset({0xC3, 0xC7, 0xCB, 0xCF})
_SCAN, _EXIF, _FILL = 0xDA, 0xE1, 0xFF
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
_TAIL = 64
"""Where the end marker is looked for; some cameras pad behind it."""
_INKS = 4


def look(reader: Reader) -> Probe:
    """Size, depth, inks, orientation; whole when the end marker stands near the end."""
    probe = Probe("jpeg")
    at, size, inks, turned = 2, reader.size, 0, False
    for _ in reader.steps():
        segment = reader.at(at, 20)
        if len(segment) < 4 or segment[0] != _FILL:  # noqa: PLR2004 - marker and length
            break
        marker = segment[1]
        if marker == _FILL or marker in _BARE:
            at += 1 if marker == _FILL else 2
            continue
        if marker == _SCAN:
            probe.progressive = probe.progressive or segment[4] < inks
            break
        length = int.from_bytes(segment[2:4], "big")
        if marker in _FRAMES and len(segment) > 9:  # noqa: PLR2004 - up to the number of components
            probe.depth, inks = segment[4], segment[9]
            probe.height, probe.width = int.from_bytes(segment[5:7], "big"), int.from_bytes(segment[7:9], "big")
            probe.cmyk = inks == _INKS
            probe.progressive, probe.lossless = marker in _PROGRESSIVE, marker in _LOSSLESS
        elif marker == _EXIF and segment[4:10] == b"Exif\x00\x00" and not turned:
            turned = True
            probe.orientation = orientation(reader.at(at + 10, min(length, 8192)))
        at += 2 + max(length, 2)
    if not inks or not probe.width or not probe.height:
        probe.fault = "corrupt" if at < size else "truncated"
    elif b"\xff\xd9" not in reader.tail(_TAIL):
        probe.fault = "truncated"
    return probe
