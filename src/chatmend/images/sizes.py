"""Computes the size at which a model sees an image, and its cost in tokens, by target.

Sources: the reference implementation in Anthropic's vision documentation (the largest size within
an edge and a number of patches, found by binary search); OpenAI's images guide (patches, tiles);
Gemini's image understanding guide (crops).
"""

from __future__ import annotations

from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from chatmend.targets.image_limits import ImageLimits

Size: TypeAlias = tuple[int, int]
"""Width and height in pixels."""
_CROPPED = 384
"""Gemini counts an image as one crop if neither side is longer than this."""
_LEAST_CROP, _MOST_CROP = 256, 768


def scale_to_fit(size: Size, *, side: int | None = None, pixels: int | None = None) -> Size:
    """Return the size scaled down in proportion to the limits; the same size if it fits."""
    width, height = size
    scale = 1.0
    if side and max(size) > side:
        scale = side / max(size)
    if pixels and width * height * scale * scale > pixels:
        scale = sqrt(pixels / (width * height))
    if scale == 1.0:
        return size
    return max(1, min(width, floor(width * scale + 1e-6))), max(
        1, min(height, floor(height * scale + 1e-6))
    )


def seen_size(limits: ImageLimits, size: Size, detail: object = None) -> Size:
    """Return the size at which the model sees an image, by the exact rule of the target.

    If the rule is unknown, the size is returned unchanged.
    """
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


def count_patches(size: Size, patch: int) -> int:
    """Return how many square patches cover an image."""
    return ceil(size[0] / patch) * ceil(size[1] / patch)


def _largest(size: Size, edge: int, most: int, patch: int) -> Size:
    """Return the largest size of the same proportions within an edge and a number of patches."""
    width, height = size
    if max(size) <= edge and count_patches(size, patch) <= most:
        return size
    if height > width:
        tall, wide = _largest((height, width), edge, most, patch)
        return wide, tall
    ratio = width / height
    fits, exceeds = 1, width
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        candidate = (middle, _shorter(middle, ratio))
        if middle <= edge and count_patches(candidate, patch) <= most:
            fits = middle
        else:
            exceeds = middle
    return fits, _shorter(fits, ratio)


def _shorter(longer: int, ratio: float) -> int:
    """Return the shorter side, with halves rounded up.

    If halves were rounded to even, 2000 x 1500 would not become 1269 x 952.
    """
    return max(floor(longer / ratio + 0.5), 1)


def _whole_patches(size: Size, most: int, patch: int) -> Size:
    """Return the size scaled to at most ``most`` whole patches, by OpenAI's shrink factor."""
    if count_patches(size, patch) <= most:
        return size
    width, height = size
    factor = sqrt(patch * patch * most / (width * height))
    wide, high = width * factor / patch, height * factor / patch
    if wide >= 1 and high >= 1:
        factor *= min(floor(wide) / wide, floor(high) / high)
    return max(1, floor(width * factor + 1e-6)), max(1, floor(height * factor + 1e-6))


def tokens(limits: ImageLimits, size: Size, detail: object = None) -> int | None:
    """Estimate the tokens of an image; None if the target does not document how it counts."""
    seen = seen_size(limits, size, detail)
    match limits.counts:
        case "flat":
            return limits.tokens_base
        case "patches":
            return ceil(count_patches(seen, limits.patch) * limits.tokens_each)
        case "tiles":
            each = 0 if detail == "low" else limits.tokens_each
            return ceil(limits.tokens_base + count_patches(seen, limits.tile) * each)
        case "crops":
            return _count_crops(size) * ceil(limits.tokens_each)
    return None


def _count_crops(size: Size) -> int:
    if max(size) <= _CROPPED:
        return 1
    unit = min(max(floor(min(size) / 1.5), _LEAST_CROP), _MOST_CROP)
    return ceil(size[0] / unit) * ceil(size[1] / unit)
