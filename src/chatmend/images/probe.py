"""What an image is, from its header and tail alone: nothing is decoded, whatever its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import UNEXAMINED, Probe
from chatmend.images.headers import gif, heif, jpeg, others, png, webp
from chatmend.images.reader import Base64Error, Reader, base64_reader, bytes_reader

if TYPE_CHECKING:
    from collections.abc import Callable

_BY_MAGIC: tuple[tuple[bytes, Callable[[Reader], Probe]], ...] = (
    (b"\xff\xd8\xff", jpeg.look),
    (b"\x89PNG\r\n\x1a\n", png.look),
    (b"GIF87a", gif.look),
    (b"GIF89a", gif.look),
    (b"RIFF", webp.look),
    (b"BM", others.look_bmp),
    (b"II*\x00", others.look_tiff),
    (b"MM\x00*", others.look_tiff),
    (b"\x00\x00\x01\x00", others.look_ico),
)


def probe_image(data: str | bytes | bytearray | memoryview, start: int = 0) -> Probe:
    """Look at an image: bytes, or base64 text from ``start`` on. Never raises; ``Probe.fault`` says what is wrong.

    The cost is that of a few short reads, the same for any size; only a GIF is walked through to its second frame. The
    steps of every walk are bounded in proportion to the bytes; beyond, ``Probe.fault`` is ``unexamined``.
    """
    try:
        reader = base64_reader(data, start) if isinstance(data, str) else bytes_reader(data)
        return look(reader)
    except (Base64Error, TypeError):
        return Probe("unknown", fault="not base64", clean=False)


def look(reader: Reader) -> Probe:
    """Look at the bytes of a reader. Raises Base64Error where its text is no base64."""
    if not reader.size:
        return Probe("unknown", fault="empty")
    head = reader.at(0, 64)
    found = next((look_at for magic, look_at in _BY_MAGIC if head.startswith(magic)), None)
    if found is None:
        found = heif.look if head[4:8] == b"ftyp" else others.look_rest
    try:
        probe = found(reader)
    except (IndexError, ValueError, OverflowError) as error:
        if isinstance(error, Base64Error):
            raise
        probe = Probe("unknown", fault="corrupt")
    if reader.exhausted:
        probe.fault = UNEXAMINED
    if not probe.width or not probe.height:
        probe.width = probe.height = 0
    probe.size, probe.clean = reader.size, reader.clean
    return probe
