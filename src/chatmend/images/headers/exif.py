"""The orientation in a block of EXIF, which is a small TIFF file."""

from __future__ import annotations

ORIENTATION = 0x0112
_SHORT = 3
_MOST = 512
"""Entries looked at; a directory of more is not made by a camera."""


def orientation(tiff: bytes) -> int:
    """1 to 8; 1 where it is not said, or not readably."""
    order = {b"II*\x00": "little", b"MM\x00*": "big"}.get(tiff[:4])
    if order is None:
        return 1

    def number(at: int, length: int) -> int:
        return int.from_bytes(tiff[at : at + length], "little" if order == "little" else "big")

    at = number(4, 4)
    for entry in range(min(number(at, 2), _MOST)):
        place = at + 2 + entry * 12
        if number(place, 2) == ORIENTATION and number(place + 2, 2) == _SHORT:
            value = number(place + 8, 2)
            return value if 1 <= value <= 8 else 1  # noqa: PLR2004 - EXIF 2.32, 4.6.4
    return 1
