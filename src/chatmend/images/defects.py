"""The defects that an image can have for a target."""

from __future__ import annotations

from enum import StrEnum


class Defect(StrEnum):
    """A defect of an image, the most serious first.

    Each defect has its own rule; only the first two share one.
    """

    UNEXAMINED = "unexamined"
    UNREADABLE = "unreadable"
    TYPE = "type"
    ANIMATED = "animated"
    ROTATED = "rotated"
    UNUSUAL = "unusual"
    PIXELS = "pixels"
    BYTES = "bytes"
