"""An image in the form of another provider: Anthropic's in OpenAI's messages, Gemini's or Bedrock's in either.

Why: ``Input tag 'image_url' found using 'type' does not match any of the expected tags`` (Anthropic); ``Invalid value:
'image'. Supported values are: 'text', 'image_url', ...`` (OpenAI).

Repair: the same data in the form of the messages around it.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.dialects.pictures import picture, translated
from chatmend.rules.image_repair import IMAGES, Mended, each_image
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images in a form that the dialect does not have, where the target's list of parts does not name it."""
    limits, shapes = context.limits, context.traits.image_shapes
    if limits.roles is None:
        return

    def mend(part: Media, role: str) -> Mended | None:
        native, found = part.extra, picture(part.extra)
        if found is None or not part.is_object or not shapes or found.shape in shapes:
            return None
        known = limits.part_types is None or native.get("type") in tuple(limits.part_types)
        if not context.traits.types_by_role and (known or ("type" not in native and limits.typeless_parts)):
            return None
        becomes = translated(native, found, shapes[0])
        if becomes is None:
            return None
        return Mended((replace(part, native=becomes),), "the form of another provider", Effect.RESHAPES)

    yield from each_image(window, context, mend)


RULE = Rule("IMG009", "foreign-image-part", find, IMAGES)
