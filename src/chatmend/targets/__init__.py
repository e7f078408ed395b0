"""Limits of targets: ``resolve`` finds the table for a target's name and builds its limits."""

from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from chatmend.targets.resolve import Target, resolve
from chatmend.targets.tables import known_providers

__all__ = ["ImageLimits", "Limits", "Target", "known_providers", "resolve"]
