"""Inspects the header and the last bytes of an image of any size, without decoding it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import UNEXAMINED, Probe
from chatmend.images.headers import gif, heif, jpeg, others, png, webp
from chatmend.images.reader import Base64Error, Reader, base64_reader, bytes_reader

if TYPE_CHECKING:
    from collections.abc import Callable

_BY_MAGIC: tuple[tuple[bytes, Callable[[Reader], Probe]], ...] = (
    (b"\xff\xd8\xff", jpeg.probe_jpeg),
    (b"\x89PNG\r\n\x1a\n", png.probe_png),
    (b"GIF87a", gif.probe_gif),
    (b"GIF89a", gif.probe_gif),
    (b"RIFF", webp.probe_webp),
    (b"BM", others.probe_bmp),
    (b"II*\x00", others.probe_tiff),
    (b"MM\x00*", others.probe_tiff),
    (b"\x00\x00\x01\x00", others.probe_ico),
)


def probe_image(data: str | bytes | bytearray | memoryview, start: int = 0) -> Probe:
    """Inspect an image in bytes, or in base64 text from index ``start``.

    Never raises; a problem is reported in ``Probe.fault``. The cost is a few short reads, at any
    size; only a GIF is read up to its second frame. The number of steps is limited in proportion
    to the size; if it does not suffice, ``Probe.fault`` is ``unexamined``.
    """
    try:
        reader = base64_reader(data, start) if isinstance(data, str) else bytes_reader(data)
        return probe_reader(reader)
    except (Base64Error, TypeError):
        return Probe("unknown", fault="not base64", canonical=False)


def probe_reader(reader: Reader) -> Probe:
    """Inspect the bytes of a reader. Raises Base64Error if its text is not base64."""
    if not reader.size:
        return Probe("unknown", fault="empty")
    head = reader.read_at(0, 64)
    inspect = next((function for magic, function in _BY_MAGIC if head.startswith(magic)), None)
    if inspect is None:
        inspect = heif.probe_heif if head[4:8] == b"ftyp" else others.probe_other
    try:
        probe = inspect(reader)
    except (IndexError, ValueError, OverflowError) as error:
        if isinstance(error, Base64Error):
            raise
        probe = Probe("unknown", fault="corrupt")
    if reader.exhausted:
        probe.fault = UNEXAMINED
    if not probe.width or not probe.height:
        probe.width = probe.height = 0
    probe.size, probe.canonical = reader.size, reader.canonical
    return probe
