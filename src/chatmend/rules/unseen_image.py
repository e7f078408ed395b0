"""An image for a model that does not accept images.

Why: ``unknown variant `image_url`, expected `text` `` (DeepSeek); ``No endpoints found that support
image input`` (OpenRouter).

Repair: The image is replaced by a text that states that it was removed. Image URLs are replaced
too.

Before (deepseek/deepseek-chat):
    [{"role": "user", "content": [
         {"type": "text", "text": "what is this?"},
         {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "what is this?"},
         {"type": "text", "text": "Image removed: this model takes no images."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.dialects.pictures import find_picture
from chatmend.rules.image_repair import IMAGES, ImageRepair, repair_images, replacement_text
from chatmend.rules.image_words import UNSEEN
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace every image, if the model does not accept images."""
    if context.limits.images.vision:
        return

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        if find_picture(part.extra) is None:
            return None
        return ImageRepair(
            (replacement_text(part, UNSEEN, context),),
            "the model does not accept images",
            Effect.DROPS,
        )

    yield from repair_images(window, context, repair_image)


RULE = Rule("IMG010", "unseen-image", find, IMAGES)
