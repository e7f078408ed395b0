"""What a target takes and refuses of images. The defaults refuse nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ImageType = Literal["jpeg", "png", "gif", "webp", "bmp", "tiff", "heic", "avif", "ico"]
"""As ``Probe.type`` names them."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The facts about images that rules ask for, and how the target itself scales and counts them."""

    native: bool = False
    """The caller wants exactly the size that the model sees (``Policy(images="native")``); no fact of the target."""

    # Where
    vision: bool = True
    """The model sees images at all."""
    roles: frozenset[Literal["system", "user", "assistant", "tool"]] | None = None
    """Roles whose messages may hold an image (``system user assistant tool``); None: any. Inside a tool result the
    role is ``tool``, whatever message carries it."""
    error_results: bool = True
    """A tool result that is marked as an error may hold an image."""

    # What
    types: frozenset[ImageType] | None = None
    """Types that are taken, as ``Probe.type`` names them (``jpeg png gif webp heic``); None: any."""
    written: frozenset[ImageType] = frozenset({"jpeg", "png"})
    """Types that recompression may write."""
    label_checked: Literal["no", "types", "bytes"] = "no"
    """The media type: ``no`` (any), ``types`` (must name a type that is taken) or ``bytes`` (what the bytes are)."""
    strict_base64: bool = False
    """Base64 must be of the standard alphabet, in one line and padded."""
    decoded: bool = False
    """What cannot be decoded is refused: an empty, truncated or corrupt image."""
    animation: bool = True
    """GIF and WebP of several frames are taken."""
    orientation: bool = True
    """EXIF orientation is honoured: the model sees the image upright."""
    plain_only: bool = False
    """CMYK, and more than eight bits in a channel, are not read safely."""

    # How large: what is refused
    max_bytes: int | None = None
    """Bytes of one image, counted as ``bytes_of`` says."""
    bytes_of: Literal["base64", "raw"] = "base64"
    """``base64`` (the length of the text) or ``raw`` (the length of the file)."""
    min_side: int = 1
    max_side: int | None = None
    """Pixels of the longer side, in the strictest request that may still come (a limit for many images is this one)."""
    few_images: int | None = None
    """A request of no more images than these may hold some with sides up to ``few_side``."""
    few_side: int | None = None
    max_pixels: int | None = None
    max_aspect: int | None = None
    """Longer side by shorter side."""

    # How large: what is never seen. It is accepted, so this only says how far an image is scaled that must be anyway.
    useful_side: int | None = None
    """A longer side than this is scaled down by the target itself before the model sees it."""
    useful_pixels: int | None = None
    """So are more pixels than these."""

    # How many: one request
    max_images: int | None = None
    max_request_bytes: int | None = None

    # What the model sees, and what that costs
    scales: Literal["unknown", "edge", "patches", "tiles", "whole-patches"] = "unknown"
    """The target's own resize rule: ``unknown``; ``edge`` (longer side to ``seen_side``); ``patches`` (the largest size
    within ``seen_side`` and ``max_patches`` patches of ``patch`` pixels); ``tiles`` (longer side to ``seen_side``, then
    shorter side to ``short_side``); ``whole-patches`` (longer side to ``seen_side``, then shrunk to whole patches)."""
    seen_side: int | None = None
    short_side: int | None = None
    patch: int = 28
    max_patches: int | None = None
    low_side: int | None = None
    """The longer side of what the model sees where the image asks for ``detail: low``; None: there is no such wish."""
    counts: Literal["unknown", "patches", "tiles", "crops", "flat"] = "unknown"
    """How tokens are counted: ``unknown``; ``patches`` (times ``tokens_each``); ``tiles`` (``tokens_base`` and
    ``tokens_each`` per tile of ``tile`` pixels); ``crops`` (``tokens_each`` per crop of ``tile`` pixels, one for a
    small image); ``flat`` (``tokens_base``)."""
    tile: int = 512
    tokens_base: int = 0
    tokens_each: float = 1.0
