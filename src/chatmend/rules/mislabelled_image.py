"""An image whose media type does not name what its bytes are, or whose base64 is wrapped, unpadded or URL-safe.

Why: ``The image was specified using the image/jpeg media type, but the image appears to be a image/png image``
(Anthropic). Tools name files by extension, or call every image PNG.

Repair: the media type is taken from the bytes, the base64 is spelled anew; the picture is not touched.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import images
from chatmend.changes import Effect
from chatmend.dialects.pictures import picture, relabelled
from chatmend.rules.image_repair import IMAGES, Mended, each_image, probed
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images under a wrong label."""

    def mend(part: Media, role: str) -> Mended | None:
        found = picture(part.extra)
        if found is None or found.payload is None:
            return None
        label, probe = found.payload.label, probed(window, found.payload)
        if not images.is_mislabelled(probe, context.limits.images, label):
            return None
        native = part.extra
        try:
            becomes = relabelled(native, found, probe.media_type)
        except ValueError:  # no base64 further in: it is judged as unreadable when it has to be decoded
            return None
        why = (
            f"the bytes are {probe.name}"
            if not images.is_label(label, probe)
            else "the base64 is not as the target reads it"
        )
        return Mended((replace(part, native=becomes),), why, Effect.RESHAPES)

    yield from each_image(window, context, mend)


RULE = Rule("IMG001", "mislabelled-image", find, IMAGES)
