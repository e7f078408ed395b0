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
    from PIL.Image import Image

    from chatmend.images.budget import Budget
    from chatmend.images.facts import Probe
    from chatmend.images.plan import Plan

Box: TypeAlias = tuple[float, float, float, float]
REVISION = 2
"""Counts changes of what comes out for the same input; part of every cache key."""
MOST_PIXELS = 89_000_000
"""Above this Pillow itself warns of a decompression bomb, and a caller may have made that warning an error."""
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
_PER_PIXEL = {"1": 2, "L": 1, "P": 5, "RGB": 4, "RGBA": 8, "LA": 8, "CMYK": 4, "I": 13, "F": 8}
"""Bytes that a decoded pixel takes by Pillow's mode, with the copies that making it plain needs; measured."""
_BY_TYPE = {"webp": 17, "avif": 10, "heic": 9}
"""The same for types whose decoders keep several canvases."""
_MOST_BY_MODE = 13
_COEFFICIENTS = 3
"""Bytes a pixel that a progressive JPEG keeps until its last scan."""
_TOO_LARGE = "decoding it would take too much memory"
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


class TooLargeError(UnreadableError):
    """An image may be sound, but decoding it would take more memory than is allowed."""


def transcode(data: bytes, probe: Probe, plan: Plan, budget: Budget) -> Encoded:
    """Decode, resize, set upright, flatten and encode an image as its plan says.

    Args:
        data: the file.
        probe: what is known of it.
        plan: what it should become.
        budget: what one image may take, and how long it waits for others.

    Raises:
        TooLargeError: it would take more memory than is allowed.
        UnreadableError: it cannot be decoded.
    """
    if len(data) > MOST_INPUT:
        raise UnreadableError("the file is larger than what is decoded")
    pixels = probe.width * probe.height
    if pixels > MOST_PIXELS:
        raise UnreadableError("it has more pixels than are decoded")
    if pixels * _BY_TYPE.get(probe.type, 0) > budget.most:
        raise TooLargeError(_TOO_LARGE)
    try:
        opened = _opened(data, probe)
        size = _scaled(opened, probe, plan)
        cost = _cost(opened, probe, size[0])
        if cost > budget.most or opened.width * opened.height > MOST_PIXELS:
            raise TooLargeError(_TOO_LARGE)  # noqa: TRY301 - one way out for all that is wrong
        with budget.room(cost):
            return _encoded(_redrawn(opened, probe, *size), probe, plan)
    except UnreadableError:
        raise
    except MemoryError as error:
        raise TooLargeError(_TOO_LARGE) from error
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
        from pillow_heif.as_plugin import HeifImageFile
    except ImportError as error:
        raise UnreadableError("HEIC is read with pip install 'chatmend[heic]'") from error
    make: Any = HeifImageFile
    opened: Image = make(io.BytesIO(data))
    return opened


def _scaled(image: Image, probe: Probe, plan: Plan) -> tuple[Size, Box | None]:
    """The size to resize to, before the image is set upright, and the part of the decoded image that it stands for."""
    width, height = plan.size
    size = (height, width) if probe.orientation > 4 else (width, height)  # noqa: PLR2004 - on its side
    if image.size != (probe.width, probe.height):  # the header of the first of several, or one that turns the picture
        size = within(image.size, side=max(size) if probe.width else None)
    drafted = image.draft(None, size) if probe.type == "jpeg" else None
    return size, drafted[1] if drafted else None


def _cost(image: Image, probe: Probe, scaled: Size) -> int:
    """Bytes that decoding and scaling will take."""
    each = max(_PER_PIXEL.get(image.mode, _MOST_BY_MODE), _BY_TYPE.get(probe.type, 0))
    scaling = 4 * scaled[0] * (image.height + scaled[1])
    waiting = _COEFFICIENTS * probe.width * probe.height if probe.progressive else 0
    pixels = max(image.width * image.height, probe.width * probe.height if probe.type == "ico" else 0)
    return pixels * each + scaling + waiting


def _redrawn(image: Image, probe: Probe, size: Size, box: Box | None) -> Image:
    """Decode, scale and flatten; what the JPEG decoder has halved already needs no sharp filter for the rest."""
    from PIL import Image as Pillow

    image.load()
    profile = image.info.get("icc_profile")
    drawn = plain(image)
    if drawn.size != size:
        scaled = probe.type == "jpeg" and image.width < probe.width
        drawn = drawn.resize(size, Pillow.Resampling.BILINEAR if scaled else Pillow.Resampling.BICUBIC, box=box)
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
