"""An animation, for a target that takes stills.

Why: OpenAI and Mistral document "non-animated GIF" only.

Repair: the first frame is sent, and a text behind it says so.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAIEAAAAAAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAIfkEAQAAAQAsAAAAAAEAAQCB////AAAAAAAAAAAACAQAAQQEADs="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"}}, {"type": "text", "text": "Only the first frame of this animation is shown."}]}]
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
    """GIF and WebP of several frames."""
    yield from recompress(window, context, Defect.ANIMATED)


RULE = Rule("IMG004", "animated-image", find, IMAGES)
