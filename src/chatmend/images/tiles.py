"""Plans the tiles of a tall or wide image, so that the model sees every part at a legible size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from chatmend.images.plan import Plan, fitted_size, max_tile_bytes
from chatmend.images.sizes import Size, seen_size
from chatmend.targets.image_limits import KEPT_SHARE

if TYPE_CHECKING:
    from chatmend.images.facts import Probe
    from chatmend.targets.image_limits import ImageLimits

Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the upright image."""
LEGIBLE = 0.75
"""The least scale at which text of `SMALL_TEXT` pixels stays legible.

Measured with tesseract on pages in four fonts: it finds 95 % of the words or more at this scale,
and 80 % at 0.55 in the least legible font. ``benchmarks/legibility.py`` measures it again.
"""
SMALL_TEXT = 12
"""The size in pixels of small text on a page, for which `LEGIBLE` was measured."""
ELONGATED = 2.5
"""The proportion of sides above which an image is tall or wide.

Screens have at most 22:9. They stay whole, because coordinates in them would no longer hold.
"""
_OVERLAP = 20
"""Neighbouring tiles share one part in 20 of a side, so that every line of text is in one tile."""
_UNKNOWN_MOST = 20
"""The number of images assumed for targets that document none; Bedrock documents 20."""
_MOST_ACROSS = 8
"""The most tiles next to each other along the shorter side."""
_NARROWEST = 4
"""A tile's side along the image is at least this part of its other side."""
_QUALITIES = (85, 70, 55)
"""Tiles share the bytes of one image, so that a lower quality may be needed."""
_STEP = 0.9
_STEPS = 24
"""If there would be too many tiles, each of 24 steps shows them at 0.9 of the scale before."""
_LEAST_GAIN = 1.2
"""Tiles must be seen this much larger than the whole image."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """How to cut an image: equal, overlapping tiles in reading order."""

    boxes: tuple[Box, ...]
    plan: Plan
    """What each tile becomes."""
    scale: float
    """The scale at which the model sees the image."""

    @property
    def legible_text(self) -> int | None:
        """The size in pixels of the smallest legible text; None if small text is legible."""
        return None if self.scale >= LEGIBLE else -int(-SMALL_TEXT * LEGIBLE // self.scale)


def tiling_for(
    probe: Probe, limits: ImageLimits, detail: object = None, *, is_sent_whole: bool
) -> Tiling | None:
    """Plan the tiles of an image; None if it is not tall or wide, or legible as a whole.

    Args:
        probe: the facts about the image.
        limits: what the target accepts and shows to the model.
        detail: the ``detail`` parameter of the image. ``low`` asks for a small image.
        is_sent_whole: whether the image would be sent unchanged. Otherwise it would be scaled to
            the limits, so that the model may see less than the target would show.
    """
    if limits.tall != "tile" or limits.native or (detail == "low" and limits.low_side):
        return None
    if probe.fault or probe.frames > 1 or not _is_elongated(probe.display_size):
        return None
    return _tiling(probe.display_size, limits, is_sent_whole=is_sent_whole)


def _is_elongated(size: Size) -> bool:
    """Whether an image is tall or wide, and its shorter side can hold a line of text."""
    shorter = min(size)
    return shorter >= SMALL_TEXT and max(size) > ELONGATED * shorter


@lru_cache(maxsize=256)
def _tiling(size: Size, limits: ImageLimits, *, is_sent_whole: bool) -> Tiling | None:
    whole = _scale(size, seen_size(limits, size) if is_sent_whole else _shown_size(size, limits))
    most = max(1, int((limits.max_images or _UNKNOWN_MOST) * KEPT_SHARE))
    scale = LEGIBLE
    for _ in range(_STEPS):
        if scale < min(whole * _LEAST_GAIN, LEGIBLE) or whole >= LEGIBLE:
            return None
        counts = _counts(size, limits, scale)
        if counts is not None and counts[0] * counts[1] <= most:
            return _cut(size, limits, *counts)
        scale *= _STEP
    return None


def _counts(size: Size, limits: ImageLimits, scale: float) -> tuple[int, int] | None:
    """Return the numbers of columns and rows of tiles that are seen at least at a scale."""
    is_tall = size[1] > size[0]
    longer, shorter = max(size), min(size)
    for across in range(1, _MOST_ACROSS + 1):
        side = _tile_side(shorter, across)
        along = _longest(side, longer, limits, scale, is_tall=is_tall)
        if along * _NARROWEST >= side:
            number = _count(longer, along)
            return (across, number) if is_tall else (number, across)
    return None


def _longest(side: int, most: int, limits: ImageLimits, scale: float, *, is_tall: bool) -> int:
    """Return the largest side along the image of a tile that is seen at least at a scale."""
    fits, exceeds = 0, most + 1
    while exceeds - fits > 1:
        along = (fits + exceeds) // 2
        tile = (side, along) if is_tall else (along, side)
        if _scale(tile, _shown_size(tile, limits)) >= scale:
            fits = along
        else:
            exceeds = along
    return fits


def _shown_size(size: Size, limits: ImageLimits) -> Size:
    """Return the size at which the model sees an image that is scaled to the limits."""
    fitted = fitted_size(size, limits)
    while (seen := seen_size(limits, fitted)) != fitted:
        fitted = seen
    return fitted


def _scale(before: Size, after: Size) -> float:
    return max(after) / max(before)


def _count(side: int, tile_side: int) -> int:
    """Return how many overlapping tiles cover a side."""
    if tile_side >= side:
        return 1
    return max(2, -(-(_OVERLAP * side - tile_side) // ((_OVERLAP - 1) * tile_side)))


def _tile_side(side: int, count: int) -> int:
    """Return the side of each of some overlapping tiles that cover a side."""
    return -(-_OVERLAP * side // ((_OVERLAP - 1) * count + 1))


def _cut(size: Size, limits: ImageLimits, columns: int, rows: int) -> Tiling:
    width, height = _tile_side(size[0], columns), _tile_side(size[1], rows)
    boxes = tuple(
        (left, top, left + width, top + height)
        for top in _starts(size[1], height, rows)
        for left in _starts(size[0], width, columns)
    )
    shown = _shown_size((width, height), limits)
    plan = Plan(shown, limits.written, max_tile_bytes(limits, len(boxes)), _QUALITIES)
    return Tiling(boxes, plan, _scale((width, height), shown))


def _starts(side: int, tile_side: int, count: int) -> list[int]:
    """Return the first pixel of each tile, evenly spread; the last tile ends at the edge."""
    return [(side - tile_side) * index // max(count - 1, 1) for index in range(count)]
