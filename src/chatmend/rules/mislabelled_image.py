"""An image whose declared media type is wrong, or whose data is not in standard form.

Such base64 contains line breaks, lacks padding or uses the URL-safe alphabet. A media type is wrong
for Claude, too, if it has capital letters or parameters. An address is not in
standard form if it is bare base64, is percent-encoded, or has white space or quotes around it, or
if a data URL is in a field for base64.

Why: ``The image was specified using the image/jpeg media type, but the image appears to be a
image/png image`` (Anthropic). Tools derive the media type from the file extension, or declare every
image as PNG.

Repair: The media type is taken from the image data, and the base64 is rewritten in standard form.
The pixels are unchanged.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4\
2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
After:
    [{"role": "user", "content": [{"type": "image_url", "image_url": {
         "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42\
mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import images
from chatmend.changes import Effect
from chatmend.dialects.pictures import find_picture, relabel_image
from chatmend.images.addresses import is_misspelt
from chatmend.rules.image_repair import (
    IMAGES,
    ImageRepair,
    is_mislabelled,
    probe_once,
    repair_images,
)
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.images import Probe
    from chatmend.images.payload import Payload
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for images with a wrong media type or base64 that the target cannot read."""

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        found = find_picture(part.extra)
        if found is None or found.payload is None:
            return None
        payload, limits = found.payload, context.limits.images
        probe = probe_once(window, payload)
        if not is_mislabelled(payload, probe, limits):
            return None
        native = part.extra
        try:
            becomes = relabel_image(native, found, probe.media_type)
        except ValueError:
            # The rest of the data is not base64: the image is unreadable once it must be decoded.
            return None
        return ImageRepair(
            (replace(part, native=becomes),), _reason(payload, probe, limits), Effect.RESHAPES
        )

    yield from repair_images(window, context, repair_image)


def _reason(payload: Payload, probe: Probe, limits: ImageLimits) -> str:
    if not images.is_correct_label(payload.label, probe):
        return f"the media type is wrong: the image data is {probe.name}"
    if not payload.is_exact:
        return "the address is not in the form that providers read"
    if is_misspelt(payload.label_spelling, limits):
        return "the media type is not written in the form that the target requires"
    return "the base64 is not in the standard form that the target requires"


RULE = Rule("IMG001", "mislabelled-image", find, IMAGES)
