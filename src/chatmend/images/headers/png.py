"""Inspects PNG files: a sequence of chunks (ISO/IEC 15948)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe
from chatmend.images.headers.exif import orientation

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_GREY, _ALPHA = 0, 4


def probe_png(reader: Reader) -> Probe:
    """Return size, depth, transparency and frames. An intact file ends with the end chunk."""
    probe = Probe("png", lossless=True)
    first = reader.read_at(8, 21)
    if first[4:8] != b"IHDR" or len(first) < 18:  # noqa: PLR2004 - up to the colour type
        probe.fault = "truncated" if len(first) < 18 else "corrupt"  # noqa: PLR2004
        return probe
    probe.width, probe.height = (
        int.from_bytes(first[8:12], "big"),
        int.from_bytes(first[12:16], "big"),
    )
    probe.depth, colour = first[16], first[17]
    probe.alpha = bool(colour & _ALPHA)
    probe.bilevel = probe.depth == 1 and colour == _GREY
    has_pixels = _read_chunks(reader, probe)
    if not probe.width or not probe.height or max(probe.width, probe.height) >= 1 << 31:
        probe.fault = "corrupt"
    elif not has_pixels or reader.read_tail(len(_END)) != _END:
        probe.fault = "truncated"
    return probe


def _read_chunks(reader: Reader, probe: Probe) -> bool:
    """Read the chunks before the pixels, and return whether there are pixels."""
    at, has_exif = 8, False
    for _ in reader.steps():
        chunk = reader.read_at(at, 12)
        kind = chunk[4:8]
        if kind == b"IDAT":
            return True
        if len(chunk) < 12 or kind == b"IEND":  # noqa: PLR2004 - length, kind, first bytes
            return False
        length = int.from_bytes(chunk[:4], "big")
        if kind == b"acTL" and int.from_bytes(chunk[8:12], "big") > 1:
            probe.frames = 2
        elif kind == b"tRNS":
            probe.alpha = True
        elif kind == b"eXIf" and not has_exif:
            has_exif = True
            probe.orientation = orientation(reader.read_at(at + 8, min(length, 8192)))
        at += 12 + length
    return True
