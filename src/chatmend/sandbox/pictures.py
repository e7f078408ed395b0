"""Reads images as providers do: format, size, and whether they can be decoded."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from dataclasses import dataclass

_FORMATS = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),")
_MAX_PIXELS = 400_000_000


@dataclass(frozen=True, slots=True)
class SandboxPicture:
    """Facts about the bytes of an image."""

    media_type: str
    """The type of the bytes, regardless of their label; empty if it is unknown."""
    width: int = 0
    height: int = 0
    size: int = 0
    decodes: bool = False
    base64_valid: bool = True
    frames: int = 1


def inspect_base64(text: str) -> SandboxPicture:
    """Inspect a base64 image; it is decoded, so that truncated data is noticed."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return SandboxPicture("", base64_valid=False)
    return inspect_bytes(data)


def inspect_bytes(data: bytes) -> SandboxPicture:
    """Inspect the bytes of an image."""
    from PIL import Image  # noqa: PLC0415 - bodies without images are judged without Pillow

    media_type = next((name for magic, name in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data))
            width, height = image.size
            frames = getattr(image, "n_frames", 1)
            if width * height <= _MAX_PIXELS:
                image.load()
    except Exception:  # noqa: BLE001 - Pillow can raise any exception for a malformed file
        return SandboxPicture(media_type, size=len(data))
    return SandboxPicture(
        _FORMATS.get(image.format or "", media_type),
        width,
        height,
        len(data),
        decodes=True,
        frames=frames,
    )


def parse_data_url(url: str) -> tuple[str, str] | None:
    """Return the media type and base64 text of a data URL; None for any other text."""
    head = _DATA_URL.match(url)
    return (head[1], url[head.end() :]) if head else None
