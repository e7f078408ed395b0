"""Measures with tesseract the scale at which small text is legible, and what models see of a page.

python -m benchmarks.legibility

The first table is the source of ``LEGIBLE`` in ``chatmend.images.tiles``: the share of words that
are found in pages of four fonts, scaled with Pillow's bicubic filter and encoded as recompression
encodes them. The second compares, for each target, the whole page of 1440 x 11000 pixels with its
tiles, both at the size at which the model sees them.
"""

from __future__ import annotations

import base64
import io
import re
import sys
from typing import Any

from PIL import Image, ImageFont
from tests.images.ocr import TESSERACT, Page, mean, page, read, recall
from tests.images.pictures import Sample, said, saved

import chatmend
from chatmend.images import seen_size

SCALES = (0.9, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
TARGETS = (
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-8",
    "openai/gpt-4o",
    "openai/gpt-5.4",
    "mistral/mistral-medium-latest",
)


def fonts() -> dict[str, Any]:
    """Return the fonts of the first table; those that are not installed are left out."""
    found: dict[str, Any] = {"Aileron (Pillow's font)": ImageFont.load_default(12)}
    for name in ("DejaVuSans", "DejaVuSansMono", "DejaVuSerif"):
        try:
            found[name] = ImageFont.truetype(f"{name}.ttf", 12)
        except OSError:
            print(f"{name} is not installed", file=sys.stderr)
    return found


def scaled(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return an image as a model would see it."""
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def recall_at(made: Page, scale: float) -> float:
    """Return the lower recall of the page as WebP and as JPEG, at a scale."""
    width, height = made.image.size
    small = scaled(made.image, (round(width * scale), round(height * scale)))
    encoded = (
        saved(small, "WEBP", quality=85, method=2),
        saved(small, "JPEG", quality=90, subsampling=0),
    )
    return min(recall(read(Image.open(io.BytesIO(data))), made.words()) for data in encoded)


def tile_recall(tall: Page, target: str) -> tuple[int, float]:
    """Return the number of tiles of a page, and the share of words found in them."""
    messages = said(Sample("page", saved(tall.image, "PNG")))
    content = chatmend.repair(messages, target).messages[0]["content"][1:]
    limits = chatmend.resolve(target).limits.images
    recalls = []
    for caption, tile in zip(content[::2], content[1::2], strict=True):
        top, bottom = map(int, re.findall(r"\d+", caption["text"])[-2:])
        image = Image.open(io.BytesIO(base64.b64decode(tile["image_url"]["url"].partition(",")[2])))
        found = read(scaled(image, seen_size(limits, image.size)))
        recalls.append(recall(found, tall.words(top, bottom)))
    return len(recalls), mean(recalls)


def main() -> int:
    """Print both tables."""
    if TESSERACT is None:
        print("tesseract is not installed (apt-get install tesseract-ocr)", file=sys.stderr)
        return 2
    print("share of 12 px words found at a scale of", *SCALES)
    for name, face in fonts().items():
        made = page(660, 900, face=face)
        print(f"{name:26}", *(f"{recall_at(made, scale):.3f}" for scale in SCALES), flush=True)
    tall = page(1440, 11_000)
    for target in TARGETS:
        limits = chatmend.resolve(target).limits.images
        whole = scaled(tall.image, seen_size(limits, tall.image.size))
        tiles, found = tile_recall(tall, target)
        print(
            f"{target:32} whole, {whole.width} x {whole.height}: "
            f"{recall(read(whole), tall.words()):.3f}   {tiles} tiles: {found:.3f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
