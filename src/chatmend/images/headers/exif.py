"""Reads the orientation from EXIF data, which has the format of a small TIFF file."""

from __future__ import annotations

ORIENTATION = 0x0112
_SHORT = 3
_ENTRY = 12
"""The length of an entry in bytes."""


def orientation(tiff: bytes) -> int:
    """Return the orientation, 1 to 8; 1 if it is missing or unreadable."""
    order = {b"II*\x00": "little", b"MM\x00*": "big"}.get(tiff[:4])
    if order is None:
        return 1

    def number(at: int, length: int) -> int:
        return int.from_bytes(tiff[at : at + length], "little" if order == "little" else "big")

    at = number(4, 4)
    entries = (len(tiff) - at - 2) // _ENTRY
    for entry in range(min(number(at, 2), entries)):
        position = at + 2 + entry * _ENTRY
        if number(position, 2) == ORIENTATION and number(position + 2, 2) == _SHORT:
            value = number(position + 8, 2)
            return value if 1 <= value <= 8 else 1  # noqa: PLR2004 - EXIF 2.32, 4.6.4
    return 1
