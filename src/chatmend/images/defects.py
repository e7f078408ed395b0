"""What can be wrong with an image."""

from __future__ import annotations

from enum import StrEnum


class Defect(StrEnum):
    """What is wrong with an image, the gravest first; each has a rule of its own."""

    UNREADABLE = "unreadable"
    TYPE = "type"
    ANIMATED = "animated"
    ROTATED = "rotated"
    UNUSUAL = "unusual"
    PIXELS = "pixels"
    BYTES = "bytes"
