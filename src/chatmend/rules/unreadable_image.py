"""An image that is empty, cut off, or no image at all.

Why: ``Could not process image`` (Anthropic); ``Provided image is not valid.`` (Vertex); ``You uploaded an unsupported
image.`` (OpenAI). It is resent with every turn, so one bad screenshot ends a session.

Repair: what can be decoded all the same is written anew; what cannot becomes a text that says what was removed and why.
The rest of the message stays. An image whose header takes more steps to read than its bytes justify is passed through, with
a finding.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "text", "text": "Image removed (PNG, 8 bytes): it cannot be decoded."}]}]
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
    """Images whose header or tail shows that they are not whole."""
    yield from recompress(window, context, Defect.UNREADABLE)


RULE = Rule("IMG002", "unreadable-image", find, IMAGES)
