"""Defects of one derived dialect, by name."""

from collections.abc import Callable
from random import Random
from typing import Any

OwnDefect = Callable[[list[Any], Random], None]


class Own(dict[str, OwnDefect]):
    """The defects of one file: ``@OWN.defect`` names a function's defect after the function."""

    def defect(self, defect: OwnDefect) -> OwnDefect:
        """Record a defect."""
        self[str(getattr(defect, "__name__", defect)).replace("_", "-")] = defect
        return defect
