"""What is wrong with an image for a target, and what it should become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chatmend.images.defects import Defect
from chatmend.images.facts import UNEXAMINED
from chatmend.images.sizes import Size, seen_size, within

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.facts import Probe
    from chatmend.targets.image_limits import ImageLimits

_WORST = 0.8
"""Bytes a pixel that JPEG at quality 85, 4:2:0, never exceeds: white noise takes 0.76."""
_ALIASES = {"image/heif": "image/heic"}
_SCRIPTS = frozenset({"svg", "pdf"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What recompression has to make."""

    size: Size
    """Upright width and height of the result."""
    types: frozenset[str]
    """Types that may be written."""
    max_bytes: int | None = None
    """Bytes of the result at most, raw."""


def diagnose(probe: Probe, limits: ImageLimits, text_size: int, detail: object = None) -> Defect | None:
    """The first defect of an image for a target; None for one that passes. Its label is judged apart.

    Args:
        probe: what is known of the image.
        limits: what the target takes.
        text_size: its length as base64.
        detail: the image's own ``detail``.
    """
    return next((defect for defect, is_wrong in _CHECKS if is_wrong(probe, limits, text_size, detail)), None)


def _has_wrong_type(probe: Probe, limits: ImageLimits) -> bool:
    return limits.types is not None and probe.type not in limits.types and (probe.type != "unknown" or limits.decoded)


def _moves(probe: Probe, limits: ImageLimits) -> bool:
    return probe.frames > 1 and not limits.animation and probe.type in ("gif", "webp")


def _has_odd_pixels(probe: Probe, limits: ImageLimits) -> bool:
    return limits.plain_only and (probe.cmyk or probe.depth > _DEPTH)


_DEPTH = 8
"""Bits of a channel that every decoder reads."""
_CHECKS: tuple[tuple[Defect, Callable[[Probe, ImageLimits, int, object], bool]], ...] = (
    (Defect.UNEXAMINED, lambda probe, *_: probe.fault == UNEXAMINED),
    (Defect.UNREADABLE, lambda probe, limits, *_: bool(probe.fault) and limits.decoded),
    (Defect.TYPE, lambda probe, limits, *_: _has_wrong_type(probe, limits)),
    (Defect.ANIMATED, lambda probe, limits, *_: _moves(probe, limits)),
    (Defect.ROTATED, lambda probe, limits, *_: probe.orientation != 1 and not limits.orientation),
    (Defect.UNUSUAL, lambda probe, limits, *_: _has_odd_pixels(probe, limits)),
    (Defect.PIXELS, lambda probe, limits, _, detail: bool(probe.width) and not _fits(probe, limits, detail)),
    (Defect.BYTES, lambda probe, limits, size, _: not _has_good_weight(probe, limits, size)),
)
"""What is wrong with an image, the gravest first: that one it is said to have."""


def _fits(probe: Probe, limits: ImageLimits, detail: object) -> bool:
    return _has_good_size(probe.shown, limits, detail)


def is_mislabelled(probe: Probe, limits: ImageLimits, label: str | None) -> bool:
    """Whether the data would be taken under another label, or in another spelling of base64."""
    if probe.fault or probe.type == "unknown" or (limits.types is not None and probe.type not in limits.types):
        return False
    if limits.strict_base64 and not probe.clean:
        return True
    return not is_label(label, probe) and _is_judged(label, limits)


def _is_judged(label: str | None, limits: ImageLimits) -> bool:
    """Whether a label that does not name what the bytes are is refused."""
    if limits.label_checked != "types" or limits.types is None:
        return limits.label_checked != "no"
    return label is None or _ALIASES.get(label, label) not in {f"image/{name}" for name in limits.types}


def is_label(label: str | None, probe: Probe) -> bool:
    """Whether a media type names what the bytes are; where there is none, or none is known, nothing is wrong."""
    if label is None or probe.type == "unknown":
        return True
    return _ALIASES.get(label, label) == probe.media_type


def _has_good_size(size: Size, limits: ImageLimits, detail: object) -> bool:
    if not _is_legal_size(size, limits):
        return False
    return not limits.native or seen_size(limits, size, detail) == size


def _is_legal_size(size: Size, limits: ImageLimits) -> bool:
    longer, shorter = max(size), max(min(size), 1)
    return not (
        (limits.max_side and longer > limits.max_side)
        or (limits.max_pixels and size[0] * size[1] > limits.max_pixels)
        or shorter < limits.min_side
        or (limits.max_aspect and longer > limits.max_aspect * shorter)
    )


def _useful_side(limits: ImageLimits, detail: object) -> int | None:
    if detail == "low" and limits.low_side:
        return min(limits.low_side, limits.useful_side or limits.low_side)
    return limits.useful_side


def _has_good_weight(probe: Probe, limits: ImageLimits, text_size: int) -> bool:
    weight = text_size if limits.bytes_of == "base64" else probe.size
    own, whole = limits.max_bytes, limits.max_request_bytes
    return not ((own and weight > own) or (whole and text_size > whole))


def most_bytes(limits: ImageLimits) -> int | None:
    """Raw bytes that one image may have: its own limit, and half of the request's."""
    own = limits.max_bytes
    if own is not None and limits.bytes_of == "base64":
        own = own // 4 * 3
    share = limits.max_request_bytes // 2 // 4 * 3 if limits.max_request_bytes else None
    return min(own, share) if own and share else own or share


def plan_for(probe: Probe, limits: ImageLimits, detail: object = None) -> Plan | str:
    """What an image with a defect should become, or why it cannot become anything."""
    if probe.type in _SCRIPTS or probe.fault in ("empty", "not base64"):
        return "it is no picture" if probe.type in _SCRIPTS else str(probe.fault)
    budget = most_bytes(limits)
    size = probe.shown
    if probe.width:
        longer, shorter = max(size), max(min(size), 1)
        if limits.max_aspect and longer > limits.max_aspect * shorter:
            return "too narrow"
        side = min((s for s in (limits.max_side, _useful_side(limits, detail)) if s), default=None)
        most = (limits.max_pixels, limits.useful_pixels, int(budget / _WORST) if budget else None)
        if limits.native:  # first the target's own rule, exactly; what it would refuse all the same is scaled further
            size, side = seen_size(limits, size, detail), limits.max_side
        size = within(size, side=side, pixels=min((p for p in most if p), default=None))
        if min(size) < limits.min_side:
            grown = limits.min_side / max(min(size), 1)
            size = round(size[0] * grown), round(size[1] * grown)
    return Plan(size, limits.written, budget)


def is_accepted(probe: Probe, limits: ImageLimits, text_size: int) -> bool:
    """Whether a target accepts an image as it is, in a request of few images, however the model sees it.

    ``diagnose`` is stricter: an image that lies on its side is accepted, and one that a request of many images may not
    hold, but both are better recompressed.
    """
    side = limits.few_side or limits.max_side
    refuses = replace(limits, native=False, orientation=True, plain_only=False, max_side=side)
    return diagnose(probe, refuses, text_size) is None
