"""Recompression: one scaled decode, one resize, one encode; a second encode only where the first is too large.

Pillow is imported here and nowhere else, when the first image needs it. None of its process-wide switches is touched:
what may be decoded is decided from the header, against limits of our own.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.images.headers.exif import ORIENTATION
from chatmend.images.pixels import flat, plain, upright
from chatmend.images.sizes import Size, within

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from PIL.Image import Image

    from chatmend.images.facts import Probe
    from chatmend.images.plan import Plan

Box: TypeAlias = tuple[float, float, float, float]
REVISION = 1
"""Counts changes of what comes out for the same input; part of every cache key."""
MOST_PIXELS = 89_000_000
"""Above this Pillow itself warns of a decompression bomb, and a caller may have made that warning an error."""
MOST_MEMORY = 256 << 20
"""Bytes that decoding one image may take."""
MOST_INPUT = 128 << 20
"""Bytes of a file that is read at all."""
_FORMATS = {
    "jpeg": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "webp": "WEBP",
    "bmp": "BMP",
    "tiff": "TIFF",
    "ico": "ICO",
    "avif": "AVIF",
}
_PLUGINS = {"webp": "WebP", "tiff": "Tiff", "ico": "Ico", "avif": "Avif"}
"""Formats that Pillow does not know before their plugin is imported."""
_PER_PIXEL = {"1": 5, "L": 5, "P": 9, "RGB": 4, "CMYK": 8, "I;16": 8, "I;16B": 8, "I;16L": 8, "I": 9, "F": 9}
_TYPES_PER_PIXEL = {"webp": 16, "avif": 16, "heic": 16, "tiff": 12, "gif": 12}
"""Bytes a pixel, copies included: their decoders keep several canvases."""
_COEFFICIENTS = 3
"""Bytes a pixel that a progressive JPEG keeps until its last scan."""
_SMALL = 65536
"""Pixels up to which a lossless source stays PNG."""
_HEAVY = 1 << 20
"""Bytes from which a bilevel image is noise rather than a scan."""


class UnreadableError(ValueError):
    """An image cannot be decoded, or not safely. Its text says why, without any content."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An image as it was written."""

    data: bytes
    type: str
    size: Size


def transcode(data: bytes, probe: Probe, plan: Plan, room: Callable[[int], AbstractContextManager[None]]) -> Encoded:
    """Decode, resize, set upright, flatten and encode an image as its plan says.

    Args:
        data: the file.
        probe: what is known of it.
        plan: what it should become.
        room: waits until so many bytes of memory may be used.

    Raises:
        UnreadableError: it cannot be decoded, or would take more memory than is allowed.
    """
    if len(data) > MOST_INPUT:
        raise UnreadableError("the file is larger than what is decoded")
    if probe.width * probe.height > MOST_PIXELS:
        raise UnreadableError("it has more pixels than are decoded")
    try:
        opened = _opened(data, probe)
        size = _scaled(opened, probe, plan)
        cost = _cost(opened, probe)
        if cost > MOST_MEMORY or opened.width * opened.height > MOST_PIXELS:
            raise UnreadableError("it has more pixels than are decoded")  # noqa: TRY301
        with room(cost):
            return _encoded(_redrawn(opened, probe, *size), probe, plan)
    except UnreadableError:
        raise
    except MemoryError as error:
        raise UnreadableError("there is not enough memory to decode it") from error
    except Exception as error:  # Pillow raises whatever a broken file makes it raise
        raise UnreadableError("it cannot be decoded") from error


def _opened(data: bytes, probe: Probe) -> Image:
    from PIL import Image

    if probe.type == "heic":
        return _opened_heic(data)
    if probe.type not in _FORMATS:
        raise UnreadableError("its type cannot be read")
    if probe.type in _PLUGINS:
        import importlib

        importlib.import_module(f"PIL.{_PLUGINS[probe.type]}ImagePlugin")
    return Image.open(io.BytesIO(data), formats=(_FORMATS[probe.type],))


def _opened_heic(data: bytes) -> Image:
    try:
        import pillow_heif
    except ImportError as error:
        raise UnreadableError("HEIC is read with pip install 'chatmend[heic]'") from error
    return pillow_heif.open_heif(io.BytesIO(data), convert_hdr_to_8bit=True)[0].to_pillow()


def _scaled(image: Image, probe: Probe, plan: Plan) -> tuple[Size, Box | None]:
    """The size to resize to, before the image is set upright, and the part of the decoded image that it stands for."""
    width, height = plan.size
    size = (height, width) if probe.orientation > 4 else (width, height)  # noqa: PLR2004 - on its side
    if image.size != (probe.width, probe.height):  # the header of the first of several, or one that turns the picture
        size = within(image.size, side=max(size) if probe.width else None)
    drafted = image.draft(None, size) if probe.type == "jpeg" else None
    return size, drafted[1] if drafted else None


def _cost(image: Image, probe: Probe) -> int:
    each = max(_PER_PIXEL.get(image.mode, 8), _TYPES_PER_PIXEL.get(probe.type, 0))
    cost = image.width * image.height * each
    return cost + _COEFFICIENTS * probe.width * probe.height if probe.progressive else cost


def _redrawn(image: Image, probe: Probe, size: Size, box: Box | None) -> Image:
    from PIL import Image as Pillow

    image.load()
    profile = image.info.get("icc_profile")
    drawn = plain(image)
    if drawn.size != size:
        drawn = drawn.resize(size, Pillow.Resampling.BICUBIC, box=box)
    turned = image.getexif().get(ORIENTATION, 1) if probe.type == "avif" else probe.orientation
    return upright(flat(drawn, profile), turned)


def _encoded(image: Image, probe: Probe, plan: Plan) -> Encoded:
    data, kind = _first(image, probe, plan)
    if plan.max_bytes and len(data) > plan.max_bytes:
        data, kind = _saved(image, "JPEG", quality=85, subsampling=2), "jpeg"
        if len(data) > plan.max_bytes:
            raise UnreadableError("no legible form of it is small enough")
    return Encoded(data, kind, image.size)


def _first(image: Image, probe: Probe, plan: Plan) -> tuple[bytes, str]:
    """Encode once: photos as JPEG, what was lossless as WebP where that is taken, small and bilevel images as PNG."""
    if probe.bilevel and "png" in plan.types:
        grey = image.convert("L").point([level >> 4 for level in range(256)]).convert("P")
        grey.putpalette([step * 17 for step in range(16) for _ in "rgb"])
        data = _saved(grey, "PNG", bits=4)
        return (data, "png") if len(data) < _HEAVY else (_saved(image, "JPEG", quality=85, subsampling=2), "jpeg")
    if not probe.lossless:
        return _saved(image, "JPEG", quality=85, subsampling=2), "jpeg"
    if image.width * image.height <= _SMALL and "png" in plan.types:
        return _saved(image, "PNG"), "png"
    if "webp" in plan.types:
        from PIL import WebPImagePlugin  # noqa: F401 - registers itself

        return _saved(image, "WEBP", quality=85, method=2), "webp"
    return _saved(image, "JPEG", quality=90, subsampling=0), "jpeg"


def _saved(image: Image, form: str, **options: Any) -> bytes:  # noqa: ANN401 - as Pillow takes them
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
