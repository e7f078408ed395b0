"""Diagnoses an image for a target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.images.defects import Defect
from chatmend.images.facts import UNEXAMINED
from chatmend.images.sizes import seen_size
from chatmend.images.tiles import tiling_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.facts import Probe
    from chatmend.images.sizes import Size
    from chatmend.targets.image_limits import ImageLimits

_ALIASES = {"image/heif": "image/heic"}


def diagnose(
    probe: Probe, limits: ImageLimits, text_size: int, detail: object = None
) -> Defect | None:
    """Return the most serious defect of an image for a target; None if it has none.

    The label is not checked here; see `is_mislabelled`.

    Args:
        probe: the facts about the image.
        limits: what the target accepts.
        text_size: the length of the image as base64.
        detail: the ``detail`` parameter of the image.
    """
    defect = next(
        (defect for defect, is_wrong in _CHECKS if is_wrong(probe, limits, text_size, detail)), None
    )
    if defect in _NOT_DECODED:
        return defect
    tiling = tiling_for(probe, limits, detail, is_sent_whole=defect is None)
    return defect if tiling is None else Defect.ILLEGIBLE


def _has_wrong_type(probe: Probe, limits: ImageLimits) -> bool:
    return (
        limits.types is not None
        and probe.type not in limits.types
        and (probe.type != "unknown" or limits.decoded)
    )


def _has_refused_animation(probe: Probe, limits: ImageLimits) -> bool:
    return probe.frames > 1 and not limits.animation and probe.type in ("gif", "webp")


def _has_unusual_pixels(probe: Probe, limits: ImageLimits) -> bool:
    return limits.plain_only and (probe.cmyk or probe.depth > _DEPTH)


_DEPTH = 8
"""The number of bits per channel that every decoder reads."""
_CHECKS: tuple[tuple[Defect, Callable[[Probe, ImageLimits, int, object], bool]], ...] = (
    (Defect.UNEXAMINED, lambda probe, *_: probe.fault == UNEXAMINED),
    (Defect.UNREADABLE, lambda probe, limits, *_: bool(probe.fault) and limits.decoded),
    (Defect.TYPE, lambda probe, limits, *_: _has_wrong_type(probe, limits)),
    (Defect.ANIMATED, lambda probe, limits, *_: _has_refused_animation(probe, limits)),
    (Defect.ROTATED, lambda probe, limits, *_: probe.orientation != 1 and not limits.orientation),
    (Defect.UNUSUAL, lambda probe, limits, *_: _has_unusual_pixels(probe, limits)),
    (
        Defect.PIXELS,
        lambda probe, limits, _, detail: (
            bool(probe.width) and not _is_good_size(probe, limits, detail)
        ),
    ),
    (Defect.BYTES, lambda probe, limits, size, _: not _is_within_bytes(probe, limits, size)),
)
"""The check for each defect, the most serious first. The first one that applies is reported."""
_NOT_DECODED = (Defect.UNEXAMINED, Defect.UNREADABLE)


def _is_good_size(probe: Probe, limits: ImageLimits, detail: object) -> bool:
    size = probe.display_size
    if not _is_legal_size(size, limits):
        return False
    return not limits.native or seen_size(limits, size, detail) == size


def is_mislabelled(
    probe: Probe, limits: ImageLimits, label: str | None, *, is_exact: bool = True
) -> bool:
    """Whether the target would accept the data under another label or in its standard form.

    Args:
        probe: the facts about the image.
        limits: what the target accepts.
        label: the media type that the message gives.
        is_exact: whether the address of the image has the form that providers read.
    """
    if (
        probe.fault
        or probe.type == "unknown"
        or (limits.types is not None and probe.type not in limits.types)
    ):
        return False
    if not is_exact or (limits.strict_base64 and not probe.canonical):
        return True
    return not is_correct_label(label, probe) and _is_wrong_label_refused(label, limits)


def _is_wrong_label_refused(label: str | None, limits: ImageLimits) -> bool:
    """Whether the target refuses a label that does not match the bytes."""
    if limits.label_checked != "types" or limits.types is None:
        return limits.label_checked != "no"
    return label is None or _ALIASES.get(label, label) not in {
        f"image/{name}" for name in limits.types
    }


def is_correct_label(label: str | None, probe: Probe) -> bool:
    """Whether a media type matches the bytes; also true if the label or the type is unknown."""
    if label is None or probe.type == "unknown":
        return True
    return _ALIASES.get(label, label) == probe.media_type


def _is_legal_size(size: Size, limits: ImageLimits) -> bool:
    longer, shorter = max(size), max(min(size), 1)
    return not (
        (limits.max_side and longer > limits.max_side)
        or (limits.max_pixels and size[0] * size[1] > limits.max_pixels)
        or shorter < limits.min_side
        or (limits.max_aspect and longer > limits.max_aspect * shorter)
    )


def _is_within_bytes(probe: Probe, limits: ImageLimits, text_size: int) -> bool:
    weight = text_size if limits.bytes_of == "base64" else probe.size
    own, whole = limits.max_bytes, limits.max_request_bytes
    return not ((own and weight > own) or (whole and text_size > whole))


def is_accepted(probe: Probe, limits: ImageLimits, text_size: int) -> bool:
    """Whether a target accepts an image unchanged in a request with few images.

    ``diagnose`` is stricter. It also finds images that the target accepts but that should be
    recompressed: rotated ones, and ones too large for a request with many images.
    """
    side = limits.few_side or limits.max_side
    refuses = replace(
        limits, native=False, tall="scale", orientation=True, plain_only=False, max_side=side
    )
    return diagnose(probe, refuses, text_size) is None
