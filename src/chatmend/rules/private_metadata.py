"""Metadata in an image, such as the place where a photo was taken.

Why: A photo holds the place, the time and the device; a screenshot may hold the prompt of a tool.
No model needs them, and what is sent is stored by the provider.

Repair: With the policy ``metadata="strip"``, EXIF, XMP, IPTC, comments, text chunks, thumbnails and
bytes after the end of the image are removed. No pixel changes; the colour profile and the
orientation stay. HEIC, AVIF and TIFF images are recompressed. By default (``keep``) an image that
the target accepts is sent unchanged. A recompressed image never has metadata.

Before (anthropic/claude-sonnet-4-5, metadata="strip"): a JPEG of 3.6 MB with EXIF data and GPS
After: the same JPEG without both
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.changes import Effect
from chatmend.dialects.pictures import find_picture, replace_image
from chatmend.images.metadata import STRIPPABLE, strip_metadata
from chatmend.images.payload import encode_base64
from chatmend.rules.image_repair import IMAGE_KEYS, ImageRepair, recompress, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.images import Probe
    from chatmend.images.payload import Payload
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window

_RECOMPRESSED = ("heic", "avif", "tiff")
_clean: dict[bytes, bool] = {}
"""Whether an image has no metadata, by the hash of its content."""
_MOST_KNOWN = 4096


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove the metadata of images, if the policy asks for it."""
    if context.limits.images.metadata != "strip":
        return

    def repair_image(part: Media, role: str) -> ImageRepair | None:
        found = find_picture(part.extra)
        if found is None or found.payload is None:
            return None
        probe = found.payload.probe()
        if not _has_metadata(found.payload, probe):
            return None
        if probe.type in _RECOMPRESSED:
            return recompress(found, part, probe, context)
        stripped = _strip(found.payload, probe)
        if stripped is None:
            return None
        text = encode_base64(stripped)
        native = replace_image(part.extra, found, text, probe.media_type)
        removed = images.format_size(probe.size - len(stripped))
        why = f"{probe.description}: {removed} of metadata removed"
        return ImageRepair((replace(part, native=native),), why, Effect.RESHAPES)

    yield from repair_images(window, context, repair_image)


def _has_metadata(payload: Payload, probe: Probe) -> bool:
    """Return whether an image has metadata. Its content is read once in a process."""
    if probe.fault or probe.type in _RECOMPRESSED:
        return not probe.fault
    if probe.type not in STRIPPABLE:
        return False
    key = payload.key()
    if key not in _clean:
        if len(_clean) >= _MOST_KNOWN:
            _clean.clear()
        _clean[key] = _strip(payload, probe) is None
    return not _clean[key]


def _strip(payload: Payload, probe: Probe) -> bytes | None:
    try:
        return strip_metadata(payload.decode(), probe.type)
    except ValueError:
        return None


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of images: whether one has metadata."""

    def judge(part: dict[str, Any]) -> object:
        found = find_picture(part)
        if found is None or found.payload is None:
            return None
        return _has_metadata(found.payload, found.payload.probe())

    return judge if limits.images.metadata == "strip" else None


RULE = Rule("IMG015", "private-metadata", find, {"parts": KeyedJudge(IMAGE_KEYS, _make_judge)})
