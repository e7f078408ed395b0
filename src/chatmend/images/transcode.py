"""Recompression: one scaled decode, one resize, one encode; a second encode only where the first is too large.

Pillow is imported here and nowhere else, when the first image needs it. None of its process-wide switches is touched or
obeyed: what may be decoded is decided from the header, against the caller's budget of memory.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.images.budget import VARIABLE
from chatmend.images.facts import weight
from chatmend.images.headers.exif import ORIENTATION
from chatmend.images.memory import to_decode, to_open
from chatmend.images.pixels import flat, plain, upright
from chatmend.images.sizes import Size, within

if TYPE_CHECKING:
    from PIL.Image import Image

    from chatmend.images.budget import Budget
    from chatmend.images.facts import Probe
    from chatmend.images.plan import Plan

Box: TypeAlias = tuple[float, float, float, float]
REVISION = 3
"""Counts changes of what comes out for the same input; part of every cache key."""
MOST_PIXELS = 1_000_000_000
"""More are not decoded at all: a JPEG takes little memory at an eighth of its size, but time for every pixel."""
_MOST_IN_A_BYTE = 1024
"""Pixels that a byte of a JPEG holds at most; a flat progressive one has 340."""
_PLUGINS = {
    "jpeg": "Jpeg",
    "png": "Png",
    "gif": "Gif",
    "webp": "WebP",
    "bmp": "Bmp",
    "tiff": "Tiff",
    "ico": "Ico",
    "avif": "Avif",
}
"""The part of Pillow that reads a type."""
_LEAST_HALVED = 1024
"""Pixels of the shorter side down to which a JPEG is halved so that decoding it takes less memory."""
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
    """An image may be intact, but it is too large to be decoded."""


def transcode(data: bytes, probe: Probe, plan: Plan, budget: Budget) -> Encoded:
    """Decode, resize, set upright, flatten and encode an image as its plan says.

    Args:
        data: the file.
        probe: what is known of it.
        plan: what it should become.
        budget: what one image may take, and how long it waits for others.

    Raises:
        TooLargeError: it would take more memory than is allowed; it may be intact.
        UnreadableError: it cannot be decoded.
        MemoryError: the machine has less memory than the budget.
    """
    pixels = probe.width * probe.height
    if pixels > MOST_PIXELS:
        text = f"it has {pixels // 10**6} megapixels, and at most {MOST_PIXELS // 10**6} are decoded"
        raise TooLargeError(text)
    if probe.type == "jpeg" and pixels > _MOST_IN_A_BYTE * len(data):
        raise UnreadableError("it cannot be decoded")
    _check(to_open(probe), budget)
    try:
        opened = _opened(data, probe)
        size = _scaled(opened, probe, plan)
        cost = to_decode(opened, probe, size[0])
        if cost > budget.most and probe.type == "jpeg" and min(plan.size) >= _LEAST_HALVED:
            wide, high = plan.size  # better half as large than not at all
            return transcode(data, probe, replace(plan, size=(wide // 2, high // 2)), budget)
        _check(cost, budget)
        with budget.room(cost):
            return _encoded(_redrawn(opened, probe, *size), probe, plan)
    except (UnreadableError, MemoryError):
        raise
    except Exception as error:  # Pillow raises whatever a broken file makes it raise
        if type(error).__name__.startswith("DecompressionBomb"):
            raise TooLargeError("this process has set a lower PIL.Image.MAX_IMAGE_PIXELS") from error
        raise UnreadableError("it cannot be decoded") from error


def _check(needed: int, budget: Budget) -> None:
    if needed > budget.most:
        text = f"decoding it takes {weight(needed)} of memory, and the budget is {weight(budget.most)}"
        raise TooLargeError(f"{text} (raise it with Recompressor(memory=...) or {VARIABLE})")


def _opened(data: bytes, probe: Probe) -> Image:
    """The image as Pillow reads its header: not by ``Image.open``, whose limit of pixels is the application's."""
    if probe.type == "heic":
        return _opened_heic(data)
    if probe.type not in _PLUGINS:
        raise UnreadableError("its type cannot be read")
    name = _PLUGINS[probe.type]
    plugin = import_module(f"PIL.{name}ImagePlugin")
    opened: Image = getattr(plugin, f"{name}ImageFile")(io.BytesIO(data))
    return opened


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
