"""How much memory decoding an image takes, estimated from its header. Every figure was measured with Pillow 13."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from chatmend.images.facts import Probe
    from chatmend.images.sizes import Size

_BY_MODE = {"1": 2, "L": 1, "P": 5, "RGB": 4, "RGBA": 8, "LA": 8, "CMYK": 4, "I": 13, "F": 8}
"""Bytes that a decoded pixel takes by Pillow's mode, with the copies that making it plain needs."""
_WORST_MODE = 13
_BY_TYPE = {"webp": 16, "avif": 12, "heic": 9}
"""The same for types whose decoders make several canvases, some of them as soon as the file is opened."""
_TRANSPARENT = 8
"""What a colour that is declared transparent adds: the image becomes RGBA, and that is copied to be scaled."""
_COEFFICIENT = 2
"""Bytes of a coefficient; there is one for each sample."""
_CHANNELS = 4
_DRAWN = 10
"""Bytes that a pixel of the result takes while it is flattened, set upright and encoded."""


def to_open(probe: Probe) -> int:
    """Bytes that decoding takes of a type whose decoder begins when the file is opened; else 0."""
    each = _BY_TYPE.get(probe.type, 0)
    return each and probe.size + each * probe.width * probe.height


def to_decode(image: Image, probe: Probe, size: Size) -> int:
    """Bytes that it takes to decode an opened image (a JPEG at the scale it was drafted to) and to scale it."""
    pixels = max(image.width * image.height, probe.width * probe.height if probe.type == "ico" else 0)
    scaling = _CHANNELS * size[0] * (image.height + size[1]) if image.size != size else 0
    return probe.size + pixels * _of_pixel(image, probe) + _kept(image, probe) + scaling + _DRAWN * size[0] * size[1]


def _of_pixel(image: Image, probe: Probe) -> int:
    if probe.type in _BY_TYPE:
        return _BY_TYPE[probe.type]
    each = _BY_MODE.get(image.mode, _WORST_MODE)
    return each + _TRANSPARENT if "transparency" in image.info else each


def _kept(image: Image, probe: Probe) -> int:
    """Bytes of the coefficients that a progressive JPEG keeps of the whole image, at whatever scale it is decoded."""
    if not probe.progressive:
        return 0
    layers: list[Any] = getattr(image, "layer", None) or [(0, 1, 1)] * 4
    wide, high = [int(layer[1]) for layer in layers], [int(layer[2]) for layer in layers]
    samples: int = probe.width * probe.height * sum(map(mul, wide, high)) // max(max(wide) * max(high), 1)
    return _COEFFICIENT * samples
