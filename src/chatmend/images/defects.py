"""What can be wrong with an image."""

from __future__ import annotations

from enum import StrEnum


class Defect(StrEnum):
    """What is wrong with an image, the gravest first. Each has a rule of its own; the first two share one."""

    UNEXAMINED = "unexamined"
    UNREADABLE = "unreadable"
    TYPE = "type"
    ANIMATED = "animated"
    ROTATED = "rotated"
    UNUSUAL = "unusual"
    PIXELS = "pixels"
    BYTES = "bytes"
