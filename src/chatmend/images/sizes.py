"""What a model sees of an image, and what that costs: each target's own resize rule and its count of tokens.

Sources: the reference implementation in Anthropic's vision documentation (largest size within an edge and a number of
patches, found by binary search); OpenAI's images guide (patches, tiles); Gemini's image understanding guide (crops).
"""

from __future__ import annotations

from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from chatmend.targets.image_limits import ImageLimits

Size: TypeAlias = tuple[int, int]
"""Width and height in pixels."""
_CROPPED = 384
"""Gemini counts an image that is no larger than this on both sides as one crop."""
_LEAST_CROP, _MOST_CROP = 256, 768


def within(size: Size, *, side: int | None = None, pixels: int | None = None) -> Size:
    """The size, scaled down in proportion so that it fits; the size itself when it does."""
    width, height = size
    scale = 1.0
    if side and max(size) > side:
        scale = side / max(size)
    if pixels and width * height * scale * scale > pixels:
        scale = sqrt(pixels / (width * height))
    if scale == 1.0:
        return size
    return max(1, min(width, floor(width * scale + 1e-6))), max(1, min(height, floor(height * scale + 1e-6)))


def seen_size(limits: ImageLimits, size: Size, detail: object = None) -> Size:
    """What the model sees of an image of this size: the target's own rule, exactly; the size itself where unknown."""
    if detail == "low" and limits.low_side:
        return _rounded_within(size, limits.low_side)
    edge = limits.seen_side
    match limits.scales:
        case "edge" if edge:
            return _rounded_within(size, edge)
        case "patches" if edge and limits.max_patches:
            return _largest(size, edge, limits.max_patches, limits.patch)
        case "whole-patches" if limits.max_patches:
            return _whole_patches(_rounded_within(size, edge), limits.max_patches, limits.patch)
        case "tiles" if edge and limits.short_side:
            width, height = _rounded_within(size, edge)
            scale = min(1.0, limits.short_side / min(width, height))
            return max(1, round(width * scale)), max(1, round(height * scale))
    return size


def _rounded_within(size: Size, side: int | None) -> Size:
    longer = max(size)
    if not side or longer <= side:
        return size
    return max(1, round(size[0] * side / longer)), max(1, round(size[1] * side / longer))


def patches(size: Size, patch: int) -> int:
    """How many patches cover an image."""
    return ceil(size[0] / patch) * ceil(size[1] / patch)


def _largest(size: Size, edge: int, most: int, patch: int) -> Size:
    """The largest size of the same proportions within an edge and a number of patches."""
    width, height = size
    if max(size) <= edge and patches(size, patch) <= most:
        return size
    if height > width:
        tall, wide = _largest((height, width), edge, most, patch)
        return wide, tall
    ratio = width / height
    fits, exceeds = 1, width
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        candidate = (middle, _shorter(middle, ratio))
        if middle <= edge and patches(candidate, patch) <= most:
            fits = middle
        else:
            exceeds = middle
    return fits, _shorter(fits, ratio)


def _shorter(longer: int, ratio: float) -> int:
    """The other side, halves rounded up: with them rounded to even, 2000 x 1500 would not become 1269 x 952."""
    return max(floor(longer / ratio + 0.5), 1)


def _whole_patches(size: Size, most: int, patch: int) -> Size:
    """The size scaled so that whole patches of it are at most ``most``: OpenAI's shrink factor."""
    if patches(size, patch) <= most:
        return size
    width, height = size
    factor = sqrt(patch * patch * most / (width * height))
    wide, high = width * factor / patch, height * factor / patch
    if wide >= 1 and high >= 1:
        factor *= min(floor(wide) / wide, floor(high) / high)
    return max(1, floor(width * factor + 1e-6)), max(1, floor(height * factor + 1e-6))


def tokens(limits: ImageLimits, size: Size, detail: object = None) -> int | None:
    """An estimate of what an image of this size costs; None where the target does not say how it counts."""
    seen = seen_size(limits, size, detail)
    match limits.counts:
        case "flat":
            return limits.tokens_base
        case "patches":
            return ceil(patches(seen, limits.patch) * limits.tokens_each)
        case "tiles":
            each = 0 if detail == "low" else limits.tokens_each
            return ceil(limits.tokens_base + patches(seen, limits.tile) * each)
        case "crops":
            return _crops(size) * ceil(limits.tokens_each)
    return None


def _crops(size: Size) -> int:
    if max(size) <= _CROPPED:
        return 1
    unit = min(max(floor(min(size) / 1.5), _LEAST_CROP), _MOST_CROP)
    return ceil(size[0] / unit) * ceil(size[1] / unit)
