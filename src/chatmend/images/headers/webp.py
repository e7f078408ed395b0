"""Inspects WebP files, which are RIFF files.

Source: https://developers.google.com/speed/webp/docs/riff_container
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe
from chatmend.images.headers.exif import orientation

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_ANIMATION, _EXIF, _ALPHA = 0x02, 0x08, 0x10


def probe_webp(reader: Reader) -> Probe:
    """Return size, transparency, animation and orientation.

    An intact file is at least as long as its header states.
    """
    head = reader.read_at(0, 40)
    if head[8:12] != b"WEBP":
        return Probe("unknown", fault="corrupt")
    probe = Probe("webp")
    kind = head[12:16]
    if kind == b"VP8X":
        flags = head[20]
        probe.alpha, probe.frames = bool(flags & _ALPHA), 2 if flags & _ANIMATION else 1
        probe.width = int.from_bytes(head[24:27], "little") + 1
        probe.height = int.from_bytes(head[27:30], "little") + 1
        _read_chunks(reader, probe, exif=bool(flags & _EXIF))
    elif kind == b"VP8L" and head[20] == 0x2F:  # noqa: PLR2004 - its signature
        bits = int.from_bytes(head[21:25], "little")
        probe.width, probe.height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        probe.alpha, probe.lossless = bool(bits >> 28 & 1), True
    elif kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        probe.width = int.from_bytes(head[26:28], "little") & 0x3FFF
        probe.height = int.from_bytes(head[28:30], "little") & 0x3FFF
    if not probe.width or not probe.height:
        probe.fault = "corrupt"
    elif int.from_bytes(head[4:8], "little") + 8 > reader.size:
        probe.fault = "truncated"
    return probe


def _read_chunks(reader: Reader, probe: Probe, *, exif: bool) -> None:
    """Read the chunks up to the pixels, or up to EXIF data if the header announces it."""
    at = 12
    for _ in reader.steps():
        chunk = reader.read_at(at, 8)
        if len(chunk) < 8:  # noqa: PLR2004 - kind and length
            return
        kind, length = chunk[:4], int.from_bytes(chunk[4:8], "little")
        if kind == b"VP8L":
            probe.lossless = True
        elif kind == b"EXIF":
            block = reader.read_at(at + 8, min(length, 8192))
            probe.orientation = orientation(block.removeprefix(b"Exif\x00\x00"))
            return
        if not exif and kind in (b"VP8L", b"VP8 ", b"ANMF"):
            return
        at += 8 + length + (length & 1)
