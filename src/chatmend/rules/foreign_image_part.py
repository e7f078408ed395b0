"""An image part in another provider's format.

Examples are Anthropic's format in OpenAI's messages, and Gemini's or Bedrock's format in either.

Why: ``Input tag 'image_url' found using 'type' does not match any of the expected tags``
(Anthropic); ``Invalid value: 'image'. Supported values are: 'text', 'image_url', ...`` (OpenAI).

Repair: The part is converted to the format of the messages around it; the image data is unchanged.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"inlineData": {
         "mimeType": "image/png",
         "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA\
WjR9awAAAABJRU5ErkJggg=="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\
+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.dialects.pictures import convert_image, find_picture
from chatmend.rules.image_repair import IMAGES, ImageRepair, accepts_type, repair_images
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for images in a format that the target and the dialect do not have."""
    limits, shapes = context.limits, context.traits.image_shapes
    if limits.roles is None:
        return

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        native, found = part.extra, find_picture(part.extra)
        if found is None or not part.is_object or not shapes or found.shape in shapes:
            return None
        known = accepts_type(part, role, limits)
        if not context.traits.types_by_role and (
            known or ("type" not in native and limits.typeless_parts)
        ):
            return None
        becomes = convert_image(native, found, shapes[0])
        if becomes is None:
            return None
        return ImageRepair(
            (replace(part, native=becomes),),
            "the image is in another provider's format",
            Effect.RESHAPES,
        )

    yield from repair_images(window, context, repair_image)


RULE = Rule("IMG009", "foreign-image-part", find, IMAGES)
