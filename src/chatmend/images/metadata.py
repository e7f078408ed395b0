"""Removes the metadata of an image without decoding a pixel.

EXIF with the place of a photo, XMP, IPTC, comments, text chunks, thumbnails, and what follows the
end of the image are left out. The colour profile stays, and so does the orientation, because
without it the image would turn. Compressed text is never inflated.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from chatmend.images.headers.exif import orientation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP sBIT bKGD hIST pHYs sPLT cICP mDCV cLLI "
    b"acTL fcTL fdAT".split()
)
"""The chunks that decide how the pixels look."""
_WEBP_KEPT = frozenset((b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"))
_WEBP_EXIF, _WEBP_XMP = 0x08, 0x04
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")
"""The application extensions of a GIF that repeat it or hold its colour profile."""
_GIF_IMAGE, _GIF_EXTENSION, _GIF_END = 0x2C, 0x21, 0x3B
_GIF_CONTROL, _GIF_APPLICATION = 0xF9, 0xFF
_JPEG_SCAN, _JPEG_END, _JPEG_COMMENT = 0xDA, 0xD9, 0xFE
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers without a segment; between segments they have no place."""
_JPEG_APPS = range(0xE0, 0xF0)
_JPEG_KEPT = ((0xE0, b"JFIF\x00"), (0xE2, b"ICC_PROFILE\x00"), (0xEE, b"Adobe"))
"""The application segments that decide how the pixels look, by marker and beginning."""
_EXIF = b"Exif\x00\x00"
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""The end of a scan: its data holds only ``FF 00`` and restart markers."""


class _MalformedError(ValueError):
    """The structure of the file cannot be followed to its end."""


def strip_metadata(data: bytes, kind: str) -> bytes | None:
    """Return the image without metadata; None if it has none, or cannot be read so.

    Never raises. The pixels are the same bytes. Time and memory grow with the size of the file.

    Args:
        data: the file.
        kind: its type, as in ``Probe.type``.
    """
    strip = _STRIP.get(kind)
    if strip is None:
        return None
    try:
        stripped = strip(data)
    except (_MalformedError, IndexError):
        return None
    return stripped if stripped != data else None


def _minimal_exif(turned: int) -> bytes:
    """Return EXIF data that holds only an orientation."""
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01" + turned.to_bytes(2, "big") + b"\x00\x00"
    return b"MM\x00*\x00\x00\x00\x08\x00\x01" + entry + b"\x00\x00\x00\x00"


def _strip_jpeg(data: bytes) -> bytes:
    out, at, turned, has_exif = [data[:2]], 2, 1, False
    tail: list[bytes] = []
    while True:
        at, marker = _jpeg_marker(data, at)
        if marker == _JPEG_END:
            tail.append(data[at : at + 2])
            break
        if marker in _JPEG_BARE:
            raise _MalformedError
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if end <= at + 3 or end > len(data):
            raise _MalformedError
        if marker == 0xE1 and data[at + 4 : at + 10] == _EXIF and not has_exif:  # noqa: PLR2004
            has_exif, turned = True, orientation(data[at + 10 : min(end, at + 8202)])
        elif _is_kept_segment(data, at, marker):
            tail.append(data[at:end])
        if marker == _JPEG_SCAN:
            scan = _NEXT_MARKER.search(data, end)
            if scan is None:
                raise _MalformedError
            tail.append(data[end : scan.start()])
            end = scan.start()
        at = end
    if turned != 1:
        exif = _EXIF + _minimal_exif(turned)
        out.append(b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif)
    return b"".join([*out, *tail])


def _jpeg_marker(data: bytes, at: int) -> tuple[int, int]:
    """Return the position of the next marker, after fill bytes, and the marker."""
    if data[at] != 0xFF:  # noqa: PLR2004
        raise _MalformedError
    filled = _FILL.match(data, at)
    at = filled.end() - 1 if filled else at
    return at, data[at + 1]


_FILL = re.compile(rb"\xff+")


def _is_kept_segment(data: bytes, at: int, marker: int) -> bool:
    if marker == _JPEG_COMMENT:
        return False
    if marker not in _JPEG_APPS:
        return True
    return any(marker == kept and data.startswith(head, at + 4) for kept, head in _JPEG_KEPT)


def _strip_png(data: bytes) -> bytes:
    out, at, turned = [_PNG_HEAD], len(_PNG_HEAD), 1
    while True:
        kind, end = data[at + 4 : at + 8], at + 12 + int.from_bytes(data[at : at + 4], "big")
        if len(kind) < 4 or end > len(data):  # noqa: PLR2004
            raise _MalformedError
        if kind == b"eXIf":
            turned = orientation(data[at + 8 : min(end - 4, at + 8200)])
        if kind == b"IDAT" and turned != 1:
            out.append(_png_chunk(b"eXIf", _minimal_exif(turned)))
            turned = 1
        if kind in _PNG_KEPT or not kind[0] & 0x20:
            out.append(data[at:end])
        if kind == b"IEND":
            return b"".join(out)
        at = end


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    crc = zlib.crc32(kind + body).to_bytes(4, "big")
    return len(body).to_bytes(4, "big") + kind + body + crc


def _strip_webp(data: bytes) -> bytes:
    end = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    chunks, turned = list[bytes](), 1
    for kind, start, stop in _webp_chunks(data, end):
        if kind == b"EXIF":
            turned = orientation(data[start + 8 : start + 8200].removeprefix(_EXIF))
        if kind in _WEBP_KEPT:
            chunk = data[start:stop]
            chunks.append(chunk + b"\x00" * (len(chunk) & 1))
    if chunks and chunks[0][:4] == b"VP8X":
        flags = chunks[0][8] & ~(_WEBP_EXIF | _WEBP_XMP)
        flags |= _WEBP_EXIF if turned != 1 else 0
        chunks[0] = chunks[0][:8] + bytes([flags]) + chunks[0][9:]
        if turned != 1:
            exif = _minimal_exif(turned)
            chunks.append(b"EXIF" + len(exif).to_bytes(4, "little") + exif)
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def _webp_chunks(data: bytes, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind, the beginning and the end of each chunk."""
    at = 12
    while at + 8 <= end:
        stop = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        if stop > end:
            raise _MalformedError
        yield data[at : at + 4], at, stop
        at = stop + (stop - at & 1)


def _strip_gif(data: bytes) -> bytes:
    at = 13 + _gif_colours(data[10])
    out = [data[:at]]
    while data[at] != _GIF_END:
        start, mark = at, data[at]
        if mark == _GIF_IMAGE:
            at = _gif_blocks(data, at + 10 + _gif_colours(data[at + 9]) + 1)
        elif mark == _GIF_EXTENSION:
            at = _gif_blocks(data, at + 2)
        else:
            raise _MalformedError
        if mark == _GIF_IMAGE or _is_kept_extension(data, start):
            out.append(data[start:at])
    return b"".join([*out, bytes([_GIF_END])])


def _gif_colours(flags: int) -> int:
    """Return the size of a table of colours in bytes."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _gif_blocks(data: bytes, at: int) -> int:
    """Return the position after a sequence of blocks."""
    while data[at]:
        at += data[at] + 1
    return at + 1


def _is_kept_extension(data: bytes, at: int) -> bool:
    label = data[at + 1]
    if label == _GIF_APPLICATION:
        return data[at + 3 : at + 14] in _GIF_LOOPS
    return label == _GIF_CONTROL


_STRIP: dict[str, Callable[[bytes], bytes]] = {
    "jpeg": _strip_jpeg,
    "png": _strip_png,
    "webp": _strip_webp,
    "gif": _strip_gif,
}
STRIPPABLE = frozenset(_STRIP)
"""The types whose metadata can be removed without decoding a pixel."""
