"""A sheet with image files before and after recompression, for people to compare."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from chatmend.errors import ImageError
from chatmend.images import probe_image, recompress

CELL, CAPTION = 420, 40
"""Pixels of a picture, and of the words below it."""


def contact_sheet(files: list[tuple[str, bytes, bytes]]) -> bytes:
    """A PNG with a row a file (its name, its bytes before and after): before on the left, after on the right."""
    page = Image.new("RGB", (2 * CELL, len(files) * (CELL + CAPTION)), "white")
    draw, face = ImageDraw.Draw(page), ImageFont.load_default(12)
    for row, (name, *versions) in enumerate(files):
        top = row * (CELL + CAPTION)
        for column, data in enumerate(versions):
            page.paste(_thumbnail(data), (column * CELL, top))
            words = f"{name}\n{probe_image(data).described}".encode("latin-1", "replace").decode("latin-1")
            draw.text((column * CELL + 4, top + CELL + 4), words, "black", face)
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


def _thumbnail(data: bytes) -> Image.Image:
    """A small picture of a file, decoded within the limits that every image is; grey where it cannot be."""
    try:
        legal = recompress(data, "strict")
    except ImageError:
        return Image.new("RGB", (CELL - 8, CELL - 8), "lightgrey")
    with Image.open(io.BytesIO(legal), formats=("JPEG", "PNG")) as picture:
        shown = picture.convert("RGB")
    shown.thumbnail((CELL - 8, CELL - 8))
    return shown
