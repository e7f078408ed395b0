"""An animated image, for a target that accepts only still images.

Why: OpenAI and Mistral document only "non-animated GIF" as an accepted type.

Repair: The first frame replaces the animation, and a text after it says so.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/gif;base64,R0lGODlhAQABAIEAAAAAAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQA\
IfkEAQAAAQAsAAAAAAEAAQCB////AAAAAAAAAAAACAQAAQQEADs="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4\
nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"}},
     {"type": "text", "text": "Only the first frame of this animation is shown."}]}]
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
    """Yield fixes that replace animated GIF and WebP images by their first frames."""
    yield from recompress_images(window, context, Defect.ANIMATED)


RULE = Rule("IMG004", "animated-image", find, IMAGES)
