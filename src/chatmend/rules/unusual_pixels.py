"""CMYK, or more than eight bits in a channel.

Why: image readers of model servers decode them wrongly or not at all (stb_image fails on CMYK JPEG); no provider
documents them.

Repair: the image is written anew in eight bits of grey or RGB.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABEAAAAABq7kcWAAAAC0lEQVR42mNoYAAAAQMAga3osnQAAAAASUVORK5CYII="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGOoBwAAgQCA05RTSgAAAABJRU5ErkJggg=="}}]}]
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
    """Images in CMYK or of 16 bits."""
    yield from recompress(window, context, Defect.UNUSUAL)


RULE = Rule("IMG006", "unusual-pixels", find, IMAGES)
