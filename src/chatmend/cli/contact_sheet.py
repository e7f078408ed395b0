"""Draws a contact sheet: images before and after recompression, side by side."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from chatmend.errors import ImageError
from chatmend.images import probe_image, recompress

CELL, CAPTION = 420, 40
"""The size of a picture and the height of its caption, in pixels."""


def contact_sheet(files: list[tuple[str, bytes, bytes]]) -> bytes:
    """Return a PNG with one row per file: before on the left, after on the right.

    Args:
        files: the name of each file and its bytes before and after.
    """
    page = Image.new("RGB", (2 * CELL, len(files) * (CELL + CAPTION)), "white")
    draw, face = ImageDraw.Draw(page), ImageFont.load_default(12)
    for row, (name, *versions) in enumerate(files):
        top = row * (CELL + CAPTION)
        for column, data in enumerate(versions):
            page.paste(_thumbnail(data), (column * CELL, top))
            caption = f"{name}\n{probe_image(data).description}".encode(
                "latin-1", "replace"
            ).decode("latin-1")
            draw.text((column * CELL + 4, top + CELL + 4), caption, "black", face)
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


def _thumbnail(data: bytes) -> Image.Image:
    """Return a thumbnail of an image, or a grey square if the image cannot be decoded.

    ``recompress`` decodes the image within the usual limits.
    """
    try:
        small = recompress(data, "strict")
    except ImageError:
        return Image.new("RGB", (CELL - 8, CELL - 8), "lightgrey")
    with Image.open(io.BytesIO(small), formats=("JPEG", "PNG")) as picture:
        thumbnail = picture.convert("RGB")
    thumbnail.thumbnail((CELL - 8, CELL - 8))
    return thumbnail
