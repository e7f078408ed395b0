"""The defects that an image can have for a target."""

from __future__ import annotations

from enum import StrEnum


class Defect(StrEnum):
    """A defect of an image, the most serious first.

    Each defect has its own rule; only the first two share one. A tall or wide image that the model
    could not read after the repair of another defect has the defect ``ILLEGIBLE`` instead.
    """

    UNEXAMINED = "unexamined"
    UNREADABLE = "unreadable"
    ILLEGIBLE = "illegible"
    TYPE = "type"
    ANIMATED = "animated"
    ROTATED = "rotated"
    UNUSUAL = "unusual"
    PIXELS = "pixels"
    BYTES = "bytes"
