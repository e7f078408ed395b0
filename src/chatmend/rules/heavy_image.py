"""An image with more bytes than the target accepts.

Why: ``image exceeds 5 MB maximum: 6221824 bytes > 5242880 bytes`` (Anthropic, which counts the
base64 text); ``Request Entity Too Large`` (Groq).

Repair: The image is recompressed once. Several sizes and qualities are not tried, because quality
85 always fits. An image within the limit is unchanged.

Before: a PNG of 1900 x 1000 px, 6.2 MB
After: a WebP of the same size, 280 KB
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
    """Yield fixes that recompress images with more bytes than the limit."""
    yield from recompress_images(window, context, Defect.BYTES)


RULE = Rule("IMG008", "heavy-image", find, IMAGES)
