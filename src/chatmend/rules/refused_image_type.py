"""An image of a type that the target does not take: BMP, TIFF, HEIC, AVIF, and GIF or WebP where they are refused.

Why: ``messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or
'image/webp'`` (Anthropic); Gemini refuses every GIF; llama.cpp answers 200 and drops a WebP in silence.

Repair: it is recompressed to a type that the target takes. HEIC needs ``pip install "chatmend[heic]"``. SVG is text, and
never drawn: like anything that cannot be read it becomes a text that says what was removed.

Before: an ``image/bmp`` of 1920 x 1080
After: the same picture as ``image/jpeg``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.plan import Defect
from chatmend.rules.image_repair import recompress
from chatmend.rules.rule import Context, Rule
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images of types that the target does not list."""
    yield from recompress(window, context, Defect.TYPE)


RULE = Rule("IMG003", "refused-image-type", Symptom.IMAGES, find)
