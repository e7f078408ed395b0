"""A photo that lies on its side, because only its EXIF data says how it is held.

Why: Anthropic documents that it "does not parse or receive any metadata"; OpenAI does not process it; llama.cpp, Ollama
and mistral-common ignore it. Nothing is refused: the model sees the picture turned.

Repair: the orientation is baked into the pixels.

Before: a JPEG of 4032 x 3024 with orientation 6
After: a JPEG of 1500 x 2000, upright
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
    """Images whose EXIF orientation is not upright."""
    yield from recompress(window, context, Defect.ROTATED)


RULE = Rule("IMG005", "rotated-image", Symptom.IMAGES, find)
