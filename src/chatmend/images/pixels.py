"""Converts pixels to what models read: 8 bits, grey or RGB, no transparency, upright."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

_LIGHT = 170
"""Visible pixels with a higher mean brightness would be illegible on white."""
_DARK = (32, 32, 32)
_LARGEST_PROFILE = 1 << 20


def to_resizable_mode(image: Image) -> Image:
    """Convert the image to a mode that can be resized: L, RGB, CMYK, LA or RGBA, 8 bits each."""
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image if image.mode == "I" else image.convert("I")
        return image.point(lambda level: level * (1 / 257)).convert("L")
    if image.mode in ("P", "RGB", "L", "1") and "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode == "PA":
        return image.convert("RGBA")
    if image.mode in ("L", "RGB", "CMYK", "LA", "RGBA"):
        return image
    return image.convert("L" if image.mode in ("1", "F") else "RGB")


def flatten(image: Image, profile: object) -> Image:
    """Convert the image to L or sRGB, without transparency.

    The background is white, or dark if the visible pixels are light.
    """
    if image.mode in ("LA", "RGBA"):
        image = _on_background(image.convert("RGBA"))
    elif image.mode not in ("L", "RGB"):
        image = image.convert("RGB")
    if image.mode == "RGB" and isinstance(profile, bytes) and len(profile) < _LARGEST_PROFILE:
        return _to_srgb(image, profile)
    return image


def _on_background(image: Image) -> Image:
    from PIL import Image as Pillow

    alpha = image.getchannel("A")
    if alpha.getextrema()[0] == 255:  # noqa: PLR2004 - opaque
        return image.convert("RGB")
    visible = alpha.point([0] * 128 + [255] * 128)
    histogram = image.convert("L").histogram(visible)
    count = sum(histogram)
    mean = sum(level * n for level, n in enumerate(histogram)) / count if count else 0
    background = Pillow.new("RGB", image.size, _DARK if mean > _LIGHT else (255, 255, 255))
    background.paste(image, mask=alpha)
    return background


def _to_srgb(image: Image, profile: bytes) -> Image:
    """Convert the colours to sRGB; unchanged if the profile is sRGB or unreadable."""
    if b"sRGB" in profile:
        return image
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        becomes: Any = ImageCms.profileToProfile(
            image, source, ImageCms.createProfile("sRGB"), outputMode="RGB"
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
    return becomes or image


def apply_orientation(image: Image, orientation: int) -> Image:
    """Transpose the image as its EXIF orientation requires."""
    from PIL.Image import Transpose

    turn = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if turn is None else image.transpose(turn)
