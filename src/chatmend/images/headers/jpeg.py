"""Inspects JPEG files: a sequence of segments before the scan (ITU-T T.81)."""

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
"""The last bytes, which must contain the end marker. Some cameras add padding after it."""
_CMYK_COMPONENTS = 4


def probe_jpeg(reader: Reader) -> Probe:
    """Return size, depth, components and orientation.

    An intact file has the end marker near its end.
    """
    probe = Probe("jpeg")
    at, size, components, has_exif = 2, reader.size, 0, False
    for _ in reader.steps():
        segment = reader.read_at(at, 20)
        if len(segment) < 4 or segment[0] != _FILL:  # noqa: PLR2004 - marker and length
            break
        marker = segment[1]
        if marker == _FILL or marker in _BARE:
            at += 1 if marker == _FILL else 2
            continue
        if marker == _SCAN:
            probe.progressive = probe.progressive or segment[4] < components
            break
        length = int.from_bytes(segment[2:4], "big")
        if marker in _FRAMES and len(segment) > 9:  # noqa: PLR2004 - up to the number of components
            probe.depth, components = segment[4], segment[9]
            probe.height, probe.width = (
                int.from_bytes(segment[5:7], "big"),
                int.from_bytes(segment[7:9], "big"),
            )
            probe.cmyk = components == _CMYK_COMPONENTS
            probe.progressive, probe.lossless = marker in _PROGRESSIVE, marker in _LOSSLESS
        elif marker == _EXIF and segment[4:10] == b"Exif\x00\x00" and not has_exif:
            has_exif = True
            probe.orientation = orientation(reader.read_at(at + 10, min(length, 8192)))
        at += 2 + max(length, 2)
    if not components or not probe.width or not probe.height:
        probe.fault = "corrupt" if at < size else "truncated"
    elif b"\xff\xd9" not in reader.read_tail(_TAIL):
        probe.fault = "truncated"
    return probe
