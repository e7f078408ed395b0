"""Inspects BMP, TIFF and ICO files, and recognises the types that are only named in reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_ONLY_NAMED = (
    (b"\xff\x0a", "jxl"),
    (b"\x00\x00\x00\x0cJXL ", "jxl"),
    (b"\x00\x00\x00\x0cjP  ", "jp2"),
    (b"8BPS", "psd"),
    (b"%PDF-", "pdf"),
)
_OS2_HEADER = 12
"""The header size of an OS/2 bitmap, which stores width and height in 16 bits."""
_WIDTH, _HEIGHT, _BITS, _ORIENTATION = 256, 257, 258, 274
_MOST = 64


def probe_bmp(reader: Reader) -> Probe:
    """Inspect a Windows bitmap."""
    head = reader.read_at(0, 30)
    probe = Probe("bmp", lossless=True)
    if len(head) < 26:  # noqa: PLR2004 - the shortest header
        probe.fault = "truncated"
        return probe
    if int.from_bytes(head[14:18], "little") == _OS2_HEADER:
        probe.width, probe.height = (
            int.from_bytes(head[18:20], "little"),
            int.from_bytes(head[20:22], "little"),
        )
    else:
        probe.width = int.from_bytes(head[18:22], "little", signed=True)
        probe.height = abs(int.from_bytes(head[22:26], "little", signed=True))
    if probe.width < 1 or not probe.height:
        probe.width = probe.height = 0
        probe.fault = "corrupt"
    return probe


def probe_tiff(reader: Reader) -> Probe:
    """Inspect the first directory of a TIFF file."""
    head = reader.read_at(0, 8)
    order: str = "little" if head[:2] == b"II" else "big"
    probe = Probe("tiff", lossless=True)

    def number(block: bytes) -> int:
        return int.from_bytes(block, "little" if order == "little" else "big")

    block = reader.read_at(number(head[4:8]), 2 + 12 * _MOST)
    for entry in range(min(number(block[:2]), _MOST)):
        field = block[2 + entry * 12 : 14 + entry * 12]
        tag, kind = number(field[:2]), number(field[2:4])
        value = number(field[8:10] if kind == 3 else field[8:12])  # noqa: PLR2004 - 3: a short
        if tag == _WIDTH:
            probe.width = value
        elif tag == _HEIGHT:
            probe.height = value
        elif tag == _BITS and number(field[4:8]) == 1:
            probe.depth, probe.bilevel = value, value == 1
        elif tag == _ORIENTATION and 1 <= value <= 8:  # noqa: PLR2004 - TIFF 6.0, section 8
            probe.orientation = value
    if not probe.width or not probe.height:
        probe.fault = "truncated" if not block else "corrupt"
    return probe


def probe_ico(reader: Reader) -> Probe:
    """Inspect a Windows icon and return the size of its largest picture.

    The size is read from the pictures, because the directory of the icon may be wrong.
    """
    probe = Probe("ico", lossless=True, alpha=True)
    count = min(int.from_bytes(reader.read_at(4, 2), "little"), _MOST)
    entries = [reader.read_at(6 + 16 * at, 16) for at in range(count)]
    sides = [_picture_size(reader, int.from_bytes(entry[12:16], "little")) for entry in entries]
    if not sides:
        probe.fault = "truncated"
        return probe
    probe.width, probe.height = max(sides, key=lambda size: size[0] * size[1])
    return probe


def _picture_size(reader: Reader, at: int) -> tuple[int, int]:
    """Return the size of a picture in an icon.

    It is a PNG, or a bitmap without its file header and with a mask below it.
    """
    head = reader.read_at(at, 24)
    if head.startswith(b"\x89PNG"):
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    return abs(int.from_bytes(head[4:8], "little", signed=True)), abs(
        int.from_bytes(head[8:12], "little", signed=True)
    ) // 2


def probe_other(reader: Reader) -> Probe:
    """Recognise the types that are only named; any other data is ``unknown``."""
    head = reader.read_at(0, 512)
    for magic, name in _ONLY_NAMED:
        if head.startswith(magic):
            return Probe(name)
    if b"<svg" in head.lower():
        return Probe("svg")
    return Probe("unknown", fault="corrupt")
