"""Limits of targets: ``resolve`` finds the table for a target's name and builds its limits."""

from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from chatmend.targets.resolve import Target, ending_with_assistant, resolve, resolve_for
from chatmend.targets.tables import known_providers

__all__ = [
    "ImageLimits",
    "Limits",
    "Target",
    "ending_with_assistant",
    "known_providers",
    "resolve",
    "resolve_for",
]
