"""Recompresses an image: one scaled decode, one resize, one encode.

An image is encoded a second time only if the first result is too large. Pillow is imported only
here and in ``pixels.py``, for the first image that needs it. Its process-wide settings are neither
changed nor used: the header and the caller's memory budget decide what is decoded.

The texts of the errors become part of the text that replaces the image in a message.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.images.budget import VARIABLE
from chatmend.images.facts import format_size
from chatmend.images.headers.exif import ORIENTATION
from chatmend.images.memory import bytes_to_decode, bytes_to_open
from chatmend.images.metadata import strip_metadata
from chatmend.images.pixels import apply_orientation, flatten, to_resizable_mode
from chatmend.images.sizes import Size, scale_to_fit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

    from chatmend.images.budget import Budget
    from chatmend.images.facts import Probe
    from chatmend.images.plan import Plan

Box: TypeAlias = tuple[float, float, float, float]
REVISION = 4
"""Part of every cache key; must increase when the output for the same input changes."""
MOST_PIXELS = 1_000_000_000
"""Larger images are not decoded.

At an eighth of its size a JPEG needs little memory, but the decoder still processes every pixel.
"""
_MOST_PIXELS_PER_BYTE = 1024
"""The most pixels that one byte of a JPEG can encode; a progressive JPEG of one colour has 340."""
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
"""The Pillow plugin that reads each type."""
_LEAST_HALVED = 1024
"""The smallest shorter side, in pixels, of a JPEG that is halved to save memory."""
_SMALL = 65536
"""The number of pixels up to which a lossless source becomes PNG."""
_HEAVY = 1 << 20
"""The size in bytes from which a bilevel image is treated as noise, not as a scan."""


class UnreadableError(ValueError):
    """An image cannot be decoded, or not safely. The text gives the reason without any content."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded image."""

    data: bytes
    type: str
    size: Size


class TooLargeError(UnreadableError):
    """An image is too large to be decoded, although it may be intact."""


def transcode(data: bytes, probe: Probe, plan: Plan, budget: Budget) -> Encoded:
    """Decode, resize, rotate, flatten and encode an image as its plan requires.

    Args:
        data: the file.
        probe: the facts about the file.
        plan: the size, types and weight of the result.
        budget: limits the memory for one image and waits while other decodes use too much.

    Raises:
        TooLargeError: decoding needs more memory than allowed; the image may be intact.
        UnreadableError: the image cannot be decoded.
        MemoryError: the machine has less memory than the budget.
    """
    with unreadable_on_error():
        opened = open_image(data, probe, budget)
        size = _choose_size(opened, probe, plan)
        cost = bytes_to_decode(opened, probe, size[0])
        if cost > budget.max_per_image and probe.type == "jpeg" and min(plan.size) >= _LEAST_HALVED:
            # A result of half the size is better than none.
            wide, high = plan.size
            return transcode(data, probe, replace(plan, size=(wide // 2, high // 2)), budget)
        check_budget(cost, budget)
        with budget.reserve(cost):
            return encode(_render(opened, probe, *size), probe, plan)


@contextmanager
def unreadable_on_error() -> Iterator[None]:
    """Raise ``UnreadableError`` for any exception that a broken file makes Pillow raise."""
    try:
        yield
    except (UnreadableError, MemoryError):
        raise
    except Exception as error:  # a broken file can make Pillow raise any exception
        if type(error).__name__.startswith("DecompressionBomb"):
            raise TooLargeError(
                "this process has set a lower PIL.Image.MAX_IMAGE_PIXELS"
            ) from error
        raise UnreadableError("it cannot be decoded") from error


def check_budget(needed: int, budget: Budget) -> None:
    """Raise ``TooLargeError`` if one image may not use that many bytes."""
    if needed > budget.max_per_image:
        text = (
            f"decoding it takes {format_size(needed)} of memory, "
            f"and the budget is {format_size(budget.max_per_image)}"
        )
        raise TooLargeError(f"{text} (raise it with Recompressor(memory=...) or {VARIABLE})")


def open_image(data: bytes, probe: Probe, budget: Budget) -> Image:
    """Return a Pillow image of which only the header is read.

    ``Image.open`` is not used, because it applies the application's own limit of pixels.

    Raises:
        TooLargeError: decoding would take too much time or memory.
        UnreadableError: no decoder reads the type, or the header is not true.
    """
    pixels = probe.width * probe.height
    if pixels > MOST_PIXELS:
        text = (
            f"it has {pixels // 10**6} megapixels, and at most {MOST_PIXELS // 10**6} are decoded"
        )
        raise TooLargeError(text)
    if probe.type == "jpeg" and pixels > _MOST_PIXELS_PER_BYTE * len(data):
        raise UnreadableError("it cannot be decoded")
    check_budget(bytes_to_open(probe), budget)
    if probe.type == "png":
        # Pillow inflates text chunks, and refuses the image if they are too large.
        data = strip_metadata(data, "png") or data
    if probe.type == "heic":
        return _open_heic(data)
    if probe.type not in _PLUGINS:
        raise UnreadableError("its type cannot be read")
    name = _PLUGINS[probe.type]
    plugin = import_module(f"PIL.{name}ImagePlugin")
    opened = getattr(plugin, f"{name}ImageFile")(io.BytesIO(data))
    opened.decodermaxblock = len(data)  # the decoder gets the file at once, not 64 KiB at a time
    result: Image = opened
    return result


def _open_heic(data: bytes) -> Image:
    try:
        from pillow_heif.as_plugin import HeifImageFile
    except ImportError as error:
        raise UnreadableError("HEIC is read with pip install 'chatmend[heic]'") from error
    make: Any = HeifImageFile
    opened: Image = make(io.BytesIO(data))
    return opened


def _choose_size(image: Image, probe: Probe, plan: Plan) -> tuple[Size, Box | None]:
    """Return the size to resize to before rotation, and the box of the decoded image to use.

    A JPEG is drafted, which means that Pillow decodes it at a reduced scale.
    """
    width, height = plan.size
    size = (height, width) if probe.orientation > 4 else (width, height)  # noqa: PLR2004 - rotated
    # Pillow's size differs for the first of several images, or if the plugin rotates the image.
    if image.size != (
        probe.width,
        probe.height,
    ):
        size = scale_to_fit(image.size, side=max(size) if probe.width else None)
    drafted = image.draft(None, size) if probe.type == "jpeg" else None
    return size, drafted[1] if drafted else None


def _render(image: Image, probe: Probe, size: Size, box: Box | None) -> Image:
    """Decode, scale, flatten and rotate an image.

    A bilinear filter is sharp enough for an image that the JPEG decoder has already scaled.
    """
    from PIL import Image as Pillow

    image.load()
    profile = image.info.get("icc_profile")
    drawn = to_resizable_mode(image)
    if drawn.size != size:
        scaled = probe.type == "jpeg" and image.width < probe.width
        drawn = drawn.resize(
            size, Pillow.Resampling.BILINEAR if scaled else Pillow.Resampling.BICUBIC, box=box
        )
    orientation = image.getexif().get(ORIENTATION, 1) if probe.type == "avif" else probe.orientation
    return apply_orientation(flatten(drawn, profile), orientation)


def encode(image: Image, probe: Probe, plan: Plan) -> Encoded:
    """Encode an image once, or again as a smaller JPEG if the result has too many bytes.

    Raises:
        UnreadableError: no result has few enough bytes.
    """
    data, kind = _encode_first(image, probe, plan)
    for quality in plan.qualities:
        if not plan.max_bytes or len(data) <= plan.max_bytes:
            break
        data, kind = _save(image, "JPEG", quality=quality, subsampling=2), "jpeg"
    if plan.max_bytes and len(data) > plan.max_bytes:
        raise UnreadableError("no legible form of it is small enough")
    return Encoded(data, kind, image.size)


def _encode_first(image: Image, probe: Probe, plan: Plan) -> tuple[bytes, str]:
    """Encode an image once, in the type that suits its content.

    Lossy sources become JPEG. Lossless sources become WebP if the target accepts it, or PNG if
    they are small. Bilevel images become PNG.
    """
    if probe.bilevel and "png" in plan.types:
        grey = image.convert("L").point([level >> 4 for level in range(256)]).convert("P")
        grey.putpalette([step * 17 for step in range(16) for _ in "rgb"])
        data = _save(grey, "PNG", bits=4)
        return (
            (data, "png")
            if len(data) < _HEAVY
            else (_save(image, "JPEG", quality=85, subsampling=2), "jpeg")
        )
    if not probe.lossless:
        return _save(image, "JPEG", quality=85, subsampling=2), "jpeg"
    if image.width * image.height <= _SMALL and "png" in plan.types:
        return _save(image, "PNG"), "png"
    if "webp" in plan.types:
        from PIL import WebPImagePlugin  # noqa: F401 - registers itself

        return _save(image, "WEBP", quality=85, method=2), "webp"
    return _save(image, "JPEG", quality=90, subsampling=0), "jpeg"


def _save(image: Image, form: str, **options: Any) -> bytes:  # noqa: ANN401 - Pillow's options
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
