"""Inspects HEIF and AVIF files, which consist of nested boxes (ISO/IEC 23008-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.images.facts import Probe

if TYPE_CHECKING:
    from chatmend.images.reader import Reader

_HEIC = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_AVIF = frozenset({b"avif", b"avis"})
_META = 65536
"""The most bytes of the ``meta`` box that are read."""


def probe_heif(reader: Reader) -> Probe:
    """Return type and size. In an intact file the last box ends at the end of the file."""
    head = reader.read_at(0, 64)
    length = min(int.from_bytes(head[:4], "big"), 64)
    brands = {head[8:12], *(head[at : at + 4] for at in range(16, length, 4))}
    kind = "avif" if brands & _AVIF else "heic" if brands & _HEIC else "unknown"
    probe = Probe(kind, lossless=False)
    if kind == "unknown":
        probe.fault = "corrupt"
        return probe
    at = 0
    for _ in reader.steps():
        box = reader.read_at(at, 16)
        if len(box) < 8:  # noqa: PLR2004 - length and kind
            break
        size = int.from_bytes(box[:4], "big")
        size = int.from_bytes(box[8:16], "big") if size == 1 else size or reader.size - at
        if box[4:8] == b"meta" and not probe.width:
            probe.width, probe.height = _largest(reader.read_at(at, min(size, _META)))
        at += max(size, 8)
    if at != reader.size:
        probe.fault = "truncated"
    elif not probe.width:
        probe.fault = "corrupt"
    return probe


def _largest(meta: bytes) -> tuple[int, int]:
    """Return the size of the largest image in the box; thumbnails and tiles are smaller."""
    sizes = [(0, 0)]
    at = meta.find(b"ispe")
    while at >= 0:
        sizes.append(
            (
                int.from_bytes(meta[at + 8 : at + 12], "big"),
                int.from_bytes(meta[at + 12 : at + 16], "big"),
            )
        )
        at = meta.find(b"ispe", at + 4)
    return _cropped(meta, max(sizes, key=lambda size: size[0] * size[1]))


def _cropped(meta: bytes, size: tuple[int, int]) -> tuple[int, int]:
    """Return the size without the padding of the encoder, if the box has a clean aperture."""
    at = meta.find(b"clap") + 4
    if at == 3:  # noqa: PLR2004 - not found
        return size
    wide, wide_by, high, high_by = (
        int.from_bytes(meta[at + 4 * n : at + 4 * n + 4], "big") for n in range(4)
    )
    width, height = wide // max(wide_by, 1), high // max(high_by, 1)
    return (width, height) if 0 < width <= size[0] and 0 < height <= size[1] else size
