"""An image for a model that takes none.

Why: ``unknown variant `image_url`, expected `text` `` (DeepSeek); ``No endpoints found that support image input``
(OpenRouter).

Repair: a text says that an image stood here. This concerns links, too.

Before (deepseek/deepseek-chat):
    [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "text", "text": "Image removed: this model takes no images."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.dialects.pictures import picture, told
from chatmend.rules.image_repair import IMAGES, Mended, each_image
from chatmend.rules.image_words import UNSEEN
from chatmend.rules.rule import Rule
from chatmend.transcript import Media, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Every image, where the model sees none."""
    if context.limits.images.vision:
        return

    def mend(part: Media, role: str) -> Mended | None:
        if picture(part.extra) is None:
            return None
        return Mended((Text(UNSEEN, told(part.extra, UNSEEN)),), "the model takes no images", Effect.DROPS)

    yield from each_image(window, context, mend)


RULE = Rule("IMG010", "unseen-image", find, IMAGES)
