"""The orientation in a block of EXIF, which is a small TIFF file."""

from __future__ import annotations

ORIENTATION = 0x0112
_SHORT = 3
_ENTRY = 12
"""Bytes of an entry."""


def orientation(tiff: bytes) -> int:
    """1 to 8; 1 where it is not said, or not readably."""
    order = {b"II*\x00": "little", b"MM\x00*": "big"}.get(tiff[:4])
    if order is None:
        return 1

    def number(at: int, length: int) -> int:
        return int.from_bytes(tiff[at : at + length], "little" if order == "little" else "big")

    at = number(4, 4)
    held = (len(tiff) - at - 2) // _ENTRY
    for entry in range(min(number(at, 2), held)):
        place = at + 2 + entry * _ENTRY
        if number(place, 2) == ORIENTATION and number(place + 2, 2) == _SHORT:
            value = number(place + 8, 2)
            return value if 1 <= value <= 8 else 1  # noqa: PLR2004 - EXIF 2.32, 4.6.4
    return 1
