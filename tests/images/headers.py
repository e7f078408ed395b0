"""Files that are a header, padding and an end: of any number of pixels and bytes, and made without a picture."""

from __future__ import annotations

import struct
import zlib

FORMS = ("jpeg", "png", "gif", "webp", "heic")


def crafted(form: str, width: int, height: int, size: int = 0) -> bytes:
    """A file of a form, of so many pixels, and of at least so many bytes. Nothing can be decoded from it."""
    return _MAKERS[form](width, height, size)


def _jpeg(width: int, height: int, size: int) -> bytes:
    frame = (
        b"\xff\xc0\x00\x11\x08"
        + struct.pack(">HH", height, width)
        + b"\x03\x01\x22\0\x02\x11\1\x03\x11\1"
    )
    scan = b"\xff\xda\x00\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0"
    return b"\xff\xd8" + frame + scan + b"\x55" * max(size, 0) + b"\xff\xd9"


def _png(width: int, height: int, size: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
        )

    head = chunk(b"IHDR", struct.pack(">II", width, height) + b"\x08\x02\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", b"\x55" * size) + b"\0\0\0\0IEND\xaeB`\x82"


def _gif(width: int, height: int, size: int) -> bytes:
    sides = struct.pack("<HH", width, height)
    blocks = (b"\xff" + b"\x55" * 255) * (size // 256 + 1)
    return (
        b"GIF89a" + sides + b"\0\0\0" + b"\x2c\0\0\0\0" + sides + b"\0" + b"\x08" + blocks + b"\0;"
    )


def _webp(width: int, height: int, size: int) -> bytes:
    body = b"\x30\1\0\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\x55" * (size + size % 2)
    return (
        b"RIFF"
        + struct.pack("<I", len(body) + 12)
        + b"WEBPVP8 "
        + struct.pack("<I", len(body))
        + body
    )


def _heic(width: int, height: int, size: int) -> bytes:
    def box(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body) + 8) + kind + body

    sides = box(b"ispe", bytes(4) + struct.pack(">II", width, height))
    return (
        box(b"ftyp", b"heic\0\0\0\0heicmif1")
        + box(b"meta", bytes(4) + sides)
        + box(b"mdat", b"\x55" * size)
    )


_MAKERS = {"jpeg": _jpeg, "png": _png, "gif": _gif, "webp": _webp, "heic": _heic}
