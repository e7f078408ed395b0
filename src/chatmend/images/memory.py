"""Estimates from the header how much memory decoding an image needs, as measured with Pillow 13."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from chatmend.images.facts import Probe
    from chatmend.images.sizes import Size

_BY_MODE = {"1": 2, "L": 1, "P": 5, "RGB": 4, "RGBA": 8, "LA": 8, "CMYK": 4, "I": 13, "F": 8}
"""Bytes per decoded pixel, by Pillow mode, with the copies that the change of mode needs."""
_WORST_MODE = 13
_BY_TYPE = {"webp": 16, "avif": 12, "heic": 9}
"""Bytes per pixel for types whose decoders create several canvases.

Some of these decoders create them as soon as the file is opened.
"""
_TRANSPARENT = 8
"""Extra bytes per pixel if a colour is transparent: the image becomes RGBA and is then copied."""
_COEFFICIENT = 2
"""Bytes per coefficient. There is one coefficient for each sample."""
_CHANNELS = 4
_BYTES_PER_RESULT_PIXEL = 10
"""Bytes per pixel of the result while it is flattened, rotated and encoded."""


def bytes_to_open(probe: Probe) -> int:
    """Return the memory for decoding if the decoder starts when the file is opened; else 0."""
    each = _BY_TYPE.get(probe.type, 0)
    return each and probe.size + each * probe.width * probe.height


def bytes_to_decode(image: Image, probe: Probe, size: Size) -> int:
    """Return the memory for decoding an opened image and scaling it to ``size``.

    A JPEG is decoded at the scale to which it was drafted.
    """
    pixels = max(
        image.width * image.height, probe.width * probe.height if probe.type == "ico" else 0
    )
    scaling = _CHANNELS * size[0] * (image.height + size[1]) if image.size != size else 0
    return (
        probe.size
        + pixels * _bytes_per_pixel(image, probe)
        + _coefficient_bytes(image, probe)
        + scaling
        + _BYTES_PER_RESULT_PIXEL * size[0] * size[1]
    )


def _bytes_per_pixel(image: Image, probe: Probe) -> int:
    if probe.type in _BY_TYPE:
        return _BY_TYPE[probe.type]
    each = _BY_MODE.get(image.mode, _WORST_MODE)
    return each + _TRANSPARENT if "transparency" in image.info else each


def _coefficient_bytes(image: Image, probe: Probe) -> int:
    """Return the bytes of the coefficients that the decoder of a progressive JPEG keeps.

    They cover the whole image, at any scale of decoding.
    """
    if not probe.progressive:
        return 0
    layers: list[Any] = getattr(image, "layer", None) or [(0, 1, 1)] * 4
    wide, high = [int(layer[1]) for layer in layers], [int(layer[2]) for layer in layers]
    samples: int = (
        probe.width * probe.height * sum(map(mul, wide, high)) // max(max(wide) * max(high), 1)
    )
    return _COEFFICIENT * samples
