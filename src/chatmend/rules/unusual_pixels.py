"""An image in CMYK, or with more than eight bits per channel.

Why: Image decoders of model servers decode such images incorrectly or not at all (stb_image fails
on CMYK JPEG); no provider documents support for them.

Repair: The image is recompressed in grey or RGB with eight bits per channel.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABEAAAAABq7kcWAAAAC0lEQVR42\
mNoYAAAAQMAga3osnQAAAAASUVORK5CYII="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4n\
GOoBwAAgQCA05RTSgAAAABJRU5ErkJggg=="}}]}]
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
    """Yield fixes that recompress images in CMYK or with more than eight bits per channel."""
    yield from recompress_images(window, context, Defect.UNUSUAL)


RULE = Rule("IMG006", "unusual-pixels", find, IMAGES)
