"""An image of a type that the target does not accept.

These are BMP, TIFF, HEIC and AVIF; for some targets also GIF or WebP.

Why: ``messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg',
'image/png', 'image/gif' or 'image/webp'`` (Anthropic); Gemini refuses every GIF; llama.cpp answers
200 and silently drops a WebP.

Repair: The image is recompressed to a type that the target accepts. HEIC needs
``pip install "chatmend[heic]"``. SVG is text and is never rendered: like every image that cannot be
decoded, it is replaced by a text that states what was removed.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciL\
z4="}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "Image removed (SVG, 41 bytes): it is no picture."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.defects import Defect
from chatmend.rules.image_repair import IMAGES, recompress_images
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that recompress images of types that the target does not accept."""
    yield from recompress_images(window, context, Defect.TYPE)


RULE = Rule("IMG003", "refused-image-type", find, IMAGES)
