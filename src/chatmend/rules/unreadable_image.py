"""An image that is empty, truncated or not an image at all.

Why: ``Could not process image`` (Anthropic); ``Provided image is not valid.`` (Vertex); ``You
uploaded an unsupported image.`` (OpenAI). It is sent again with every turn, so one bad screenshot
ends a session.

Repair: An image that can still be decoded is recompressed. Any other is replaced by a text that
states what was removed and why. The rest of the message is unchanged. An image whose header takes
more steps to read than its size in bytes justifies is passed through, and reported as a finding.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "what is this?"},
         {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "what is this?"},
         {"type": "text", "text": "Image removed (PNG, 8 bytes): it cannot be decoded."}]}]
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
    """Yield fixes for images whose header or end shows that they are invalid or truncated."""
    yield from recompress_images(window, context, Defect.UNREADABLE)


RULE = Rule("IMG002", "unreadable-image", find, IMAGES)
