"""Which limits hold where: a target's name leads to a table, the table to ``Limits``."""

from chatmend.targets.image_limits import ImageLimits
from chatmend.targets.limits import Limits
from chatmend.targets.resolve import Target, known_providers, resolve

__all__ = ["ImageLimits", "Limits", "Target", "known_providers", "resolve"]
