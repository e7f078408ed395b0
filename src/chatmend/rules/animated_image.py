"""An animation, for a target that takes stills.

Why: OpenAI and Mistral document "non-animated GIF" only.

Repair: the first frame is sent, and a text behind it says so.

Before: a GIF of 30 frames
After: its first frame as a still, ``Only the first frame of this animation is shown.``
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
    """GIF and WebP of several frames."""
    yield from recompress(window, context, Defect.ANIMATED)


RULE = Rule("IMG004", "animated-image", Symptom.IMAGES, find)
