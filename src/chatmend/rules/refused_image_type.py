"""An image of a type that the target does not take: BMP, TIFF, HEIC, AVIF, and GIF or WebP where they are refused.

Why: ``messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or
'image/webp'`` (Anthropic); Gemini refuses every GIF; llama.cpp answers 200 and drops a WebP in silence.

Repair: it is recompressed to a type that the target takes. HEIC needs ``pip install "chatmend[heic]"``. SVG is text, and
never drawn: like anything that cannot be read it becomes a text that says what was removed.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "Image removed (SVG, 41 bytes): it is no picture."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.defects import Defect
from chatmend.rules.image_repair import IMAGES, recompress
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images of types that the target does not list."""
    yield from recompress(window, context, Defect.TYPE)


RULE = Rule("IMG003", "refused-image-type", find, IMAGES)
