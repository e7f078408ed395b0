"""Pixels as models read them: eight bits, grey or RGB, on a ground, upright."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

_LIGHT = 170
"""Visible pixels that are lighter than this on average would vanish on white."""
_DARK = (32, 32, 32)
_LARGEST_PROFILE = 1 << 20


def plain(image: Image) -> Image:
    """The image in a mode that can be resized: L, RGB, CMYK, LA or RGBA, eight bits a channel."""
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


def flat(image: Image, profile: object) -> Image:
    """The image in L or RGB, of sRGB, on white; on a dark ground where what is visible is light."""
    if image.mode in ("LA", "RGBA"):
        image = _grounded(image.convert("RGBA"))
    elif image.mode not in ("L", "RGB"):
        image = image.convert("RGB")
    if image.mode == "RGB" and isinstance(profile, bytes) and len(profile) < _LARGEST_PROFILE:
        return _in_srgb(image, profile)
    return image


def _grounded(image: Image) -> Image:
    from PIL import Image as Pillow

    alpha = image.getchannel("A")
    if alpha.getextrema()[0] == 255:  # noqa: PLR2004 - opaque
        return image.convert("RGB")
    visible = alpha.point([0] * 128 + [255] * 128)
    histogram = image.convert("L").histogram(visible)
    count = sum(histogram)
    mean = sum(level * n for level, n in enumerate(histogram)) / count if count else 0
    ground = Pillow.new("RGB", image.size, _DARK if mean > _LIGHT else (255, 255, 255))
    ground.paste(image, mask=alpha)
    return ground


def _in_srgb(image: Image, profile: bytes) -> Image:
    """The image with its colours in sRGB; as it is where its profile is sRGB, or is none that can be read."""
    if b"sRGB" in profile:
        return image
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        becomes: Any = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
    return becomes or image


def upright(image: Image, orientation: int) -> Image:
    """The image as its EXIF orientation wants it seen."""
    from PIL.Image import Transpose

    turn = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
    }.get(orientation)  # fmt: skip
    return image if turn is None else image.transpose(turn)
