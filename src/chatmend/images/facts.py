"""What is known of an image without decoding it."""

from __future__ import annotations

from dataclasses import dataclass

_NAMES = {"jpeg": "JPEG", "png": "PNG", "gif": "GIF", "webp": "WebP", "heic": "HEIC", "avif": "AVIF", "tiff": "TIFF"}
UNEXAMINED = "unexamined"
"""The fault of an image whose header takes more steps to walk through than its bytes justify."""
_UPRIGHT = 4
"""Orientations above this one lie on their side."""


@dataclass(slots=True)
class Probe:
    """An image as its header and tail tell of it."""

    type: str
    """``jpeg png gif webp bmp tiff heic avif ico svg jxl jp2 psd pdf``, or ``unknown``: no image that we know of."""
    width: int = 0
    """Pixels, as stored: before the orientation is applied; 0 where the header does not tell."""
    height: int = 0
    orientation: int = 1
    """EXIF orientation, 1 to 8; 1 is upright."""
    frames: int = 1
    """1, or 2 for several."""
    depth: int = 8
    """Bits in a channel."""
    cmyk: bool = False
    alpha: bool = False
    lossless: bool = False
    bilevel: bool = False
    """Black and white alone, one bit a pixel."""
    progressive: bool = False
    """A JPEG in several scans, by refinement or by colour: its decoder keeps the coefficients of the whole image."""
    fault: str | None = None
    """What makes it unreadable, as far as header and tail show: ``empty``, ``not base64``, ``truncated``, ``corrupt``,
    ``unexamined``; None for a whole image."""
    size: int = 0
    """Bytes of the file."""
    clean: bool = True
    """It came as bytes, or as base64 of the standard alphabet, in one line and padded."""

    @property
    def shown(self) -> tuple[int, int]:
        """Width and height as a viewer shows them, upright."""
        return (self.height, self.width) if self.orientation > _UPRIGHT else (self.width, self.height)

    @property
    def media_type(self) -> str:
        """The media type that the bytes call for."""
        return media_type(self.type)

    @property
    def name(self) -> str:
        """What people call the type."""
        return name_of(self.type)

    @property
    def described(self) -> str:
        """Type, size in pixels and size in bytes, for people: ``PNG, 3840 x 2160, 8.8 MB``."""
        parts = [self.name if self.type != "unknown" else "unknown type"]
        if self.width and self.height:
            parts.append("{} x {}".format(*self.shown))
        return ", ".join([*parts, weight(self.size)])


def media_type(kind: str) -> str:
    """The media type of a type."""
    return {"svg": "image/svg+xml", "pdf": "application/pdf", "unknown": "application/octet-stream"}.get(
        kind, f"image/{kind}"
    )


def name_of(kind: str) -> str:
    """What people call a type."""
    return _NAMES.get(kind, kind.upper())


def weight(size: int) -> str:
    """A number of bytes for people."""
    for unit, scale in (("MB", 1_000_000), ("KB", 1_000)):
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"
