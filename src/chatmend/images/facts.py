"""Facts about an image that are known without decoding it."""

from __future__ import annotations

from dataclasses import dataclass

_NAMES = {
    "jpeg": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "webp": "WebP",
    "heic": "HEIC",
    "avif": "AVIF",
    "tiff": "TIFF",
}
UNEXAMINED = "unexamined"
"""The fault of an image whose header takes too many steps to read for its size in bytes."""
LAST_UPRIGHT = 4
"""EXIF orientations above this one swap width and height."""


@dataclass(slots=True)
class Probe:
    """What the header and the last bytes of an image reveal."""

    type: str
    """``jpeg png gif webp bmp tiff heic avif ico svg jxl jp2 psd pdf``; ``unknown`` for others."""
    width: int = 0
    """Stored width in pixels, before the orientation is applied; 0 if the header has none."""
    height: int = 0
    orientation: int = 1
    """EXIF orientation, 1 to 8; 1 is upright."""
    frames: int = 1
    """1 for a single frame, 2 for several."""
    depth: int = 8
    """Bits per channel."""
    cmyk: bool = False
    alpha: bool = False
    lossless: bool = False
    bilevel: bool = False
    """Black and white only, one bit per pixel."""
    progressive: bool = False
    """Whether a JPEG has several scans, by refinement or by colour.

    The decoder of such a JPEG keeps the coefficients of the whole image.
    """
    fault: str | None = None
    """Why the image is unreadable, as far as its header and last bytes show; None if it is intact.

    One of ``empty``, ``not base64``, ``truncated``, ``corrupt``, ``unexamined``.
    """
    size: int = 0
    """Size of the file in bytes."""
    canonical: bool = True
    """Whether the data is raw bytes, or padded base64 of the standard alphabet in one line."""

    @property
    def display_size(self) -> tuple[int, int]:
        """Width and height after the orientation is applied."""
        return (
            (self.height, self.width)
            if self.orientation > LAST_UPRIGHT
            else (self.width, self.height)
        )

    @property
    def media_type(self) -> str:
        """The media type of the bytes."""
        return media_type(self.type)

    @property
    def name(self) -> str:
        """The name of the type in reports, such as ``WebP``."""
        return type_name(self.type)

    @property
    def description(self) -> str:
        """Type, size in pixels and size in bytes, such as ``PNG, 3840 x 2160, 8.8 MB``."""
        parts = [self.name if self.type != "unknown" else "unknown type"]
        if self.width and self.height:
            parts.append("{} x {}".format(*self.display_size))
        return ", ".join([*parts, format_size(self.size)])


def media_type(kind: str) -> str:
    """Return the media type of an image type."""
    return {
        "svg": "image/svg+xml",
        "pdf": "application/pdf",
        "unknown": "application/octet-stream",
    }.get(kind, f"image/{kind}")


def type_name(kind: str) -> str:
    """Return the name of an image type in reports, such as ``WebP``."""
    return _NAMES.get(kind, kind.upper())


def format_size(size: int) -> str:
    """Format a number of bytes, such as ``8.8 MB``."""
    for unit, scale in (("MB", 1_000_000), ("KB", 1_000)):
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"
