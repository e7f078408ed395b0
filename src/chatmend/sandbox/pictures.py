"""Looks into images as providers do: what format the bytes are, how large, and whether they decode."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from dataclasses import dataclass

from PIL import Image

_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp", "BMP": "image/bmp"}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),")
_MOST_PIXELS = 400_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """What can be said of the bytes of an image."""

    media_type: str
    """What the bytes are, whatever the label says; empty: no image that we know."""
    width: int = 0
    height: int = 0
    size: int = 0
    decodes: bool = False
    base64_valid: bool = True
    frames: int = 1


def look(text: str) -> Picture:
    """Look at an image in base64. It is decoded, so that truncated data shows."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return Picture("", base64_valid=False)
    return look_at_bytes(data)


def look_at_bytes(data: bytes) -> Picture:
    """Look at the bytes of an image."""
    media_type = next((name for magic, name in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data))
            width, height = image.size
            frames = getattr(image, "n_frames", 1)
            if width * height <= _MOST_PIXELS:
                image.load()
    except Exception:  # noqa: BLE001 - Pillow raises whatever a broken file makes it raise
        return Picture(media_type, size=len(data))
    return Picture(_FORMATS.get(image.format or "", media_type), width, height, len(data), decodes=True, frames=frames)


def data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 text of a data URL; None for anything else."""
    head = _DATA_URL.match(url)
    return (head[1], url[head.end() :]) if head else None
