"""Small images to send."""

from __future__ import annotations

import base64
from io import BytesIO

SIDE = 64
"""Width and height in pixels, unless told."""


def picture(kind: str, side: int = SIDE) -> bytes:
    """Return an image file of a type (``png``, ``jpeg`` …), a red square of ``side`` pixels."""
    from PIL import Image  # noqa: PLC0415 - only for images

    written = BytesIO()
    Image.new("RGB", (side, side), (200, 30, 30)).save(written, kind)
    return written.getvalue()


def data_url(file: bytes, kind: str) -> str:
    """Return a data URL for an image file that is labelled with a type."""
    return f"data:image/{kind};base64,{base64.b64encode(file).decode()}"
