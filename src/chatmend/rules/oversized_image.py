"""An image of more pixels than the target takes, or ever looks at.

Why: ``At least one of the image dimensions exceed max allowed size: 8000 pixels``, and 2000 pixels in a request of many
images (Anthropic); ``The image exceeds the maximum allowed size (33177600 pixels)`` (Groq). Others scale it down
themselves: what is above is sent for nothing.

Repair: it is scaled to one bound that stays right however many images follow, so that old images never change. With
``Policy(images="native")`` to the exact size that the model sees. With ``image_notes`` a text behind it gives the factor.

Before: a PNG of 3840 x 2160, 8.8 MB
After: a WebP of 2000 x 1125, 302 KB
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
    """Images over the bound of the target."""
    yield from recompress(window, context, Defect.PIXELS)


RULE = Rule("IMG007", "oversized-image", Symptom.IMAGES, find)
