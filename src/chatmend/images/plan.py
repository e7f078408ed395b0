"""Plans the recompression of an image for a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmend.images.sizes import Size, scale_to_fit, seen_size
from chatmend.targets.image_limits import KEPT_SHARE

if TYPE_CHECKING:
    from chatmend.images.facts import Probe
    from chatmend.targets.image_limits import ImageLimits

_MOST_BYTES_PER_PIXEL = 0.8
"""An upper bound for JPEG at quality 85 with 4:2:0 subsampling; white noise needs 0.76."""
_NOT_RASTER = frozenset({"svg", "pdf"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What the result of recompression must be."""

    size: Size
    """Width and height of the upright result."""
    types: frozenset[str]
    """The types that may be written."""
    max_bytes: int | None = None
    """The largest size of the result in bytes, before base64."""
    qualities: tuple[int, ...] = (85,)
    """The JPEG qualities to try if the result has more bytes, the best first."""


def _useful_side(limits: ImageLimits, detail: object) -> int | None:
    if detail == "low" and limits.low_side:
        return min(limits.low_side, limits.useful_side or limits.low_side)
    return limits.useful_side


def max_image_bytes(limits: ImageLimits) -> int | None:
    """Return the most bytes, before base64, that recompression may produce for one image.

    This is the limit for an image, and at most half of the limit for the whole request.
    """
    return _min_bytes(limits, 0.5)


def max_tile_bytes(limits: ImageLimits, tiles: int) -> int | None:
    """Return the most bytes, before base64, that each of the tiles of an image may have."""
    return _min_bytes(limits, KEPT_SHARE / tiles)


def _min_bytes(limits: ImageLimits, share: float) -> int | None:
    """Return the limit of bytes for an image, and at most a share of that for the request."""
    own = limits.max_bytes
    if own is not None and limits.bytes_of == "base64":
        own = own // 4 * 3
    part = int(limits.max_request_bytes * share) // 4 * 3 if limits.max_request_bytes else None
    return min(own, part) if own and part else own or part


def plan_for(probe: Probe, limits: ImageLimits, detail: object = None) -> Plan | str:
    """Plan the recompression of an image, or return the reason why it is impossible.

    The reason becomes part of the text that replaces the image in a message.
    """
    if probe.type in _NOT_RASTER or probe.fault in ("empty", "not base64"):
        return "it is no picture" if probe.type in _NOT_RASTER else str(probe.fault)
    size = probe.display_size
    if probe.width:
        longer, shorter = max(size), max(min(size), 1)
        if limits.max_aspect and longer > limits.max_aspect * shorter:
            return "too narrow"
        size = fitted_size(size, limits, detail)
    return Plan(size, limits.written, max_image_bytes(limits))


def fitted_size(size: Size, limits: ImageLimits, detail: object = None) -> Size:
    """Return the size to which an image is scaled for a target; the same size if it fits."""
    budget = max_image_bytes(limits)
    side = min((s for s in (limits.max_side, _useful_side(limits, detail)) if s), default=None)
    most = (
        limits.max_pixels,
        limits.useful_pixels,
        int(budget / _MOST_BYTES_PER_PIXEL) if budget else None,
    )
    if limits.native:
        # The exact rule of the target comes first. If the result is still over a limit, it is
        # scaled further.
        size, side = seen_size(limits, size, detail), limits.max_side
    size = scale_to_fit(size, side=side, pixels=min((p for p in most if p), default=None))
    if min(size) < limits.min_side:
        grown = limits.min_side / max(min(size), 1)
        size = round(size[0] * grown), round(size[1] * grown)
    return size
