"""What a defect is: a function that breaks one thing in a transcript that it owns."""

from collections.abc import Callable
from random import Random
from typing import Any

from ..wires import Dialect, Wire

Defect = Callable[[list[Any], Random, Wire], None]
"""Breaks the list in place. Does nothing if there is nothing to break, and accepts a list that is already broken."""

BOTH: tuple[Dialect, ...] = ("openai_chat", "anthropic_messages")


class Defects(dict[str, tuple[tuple[Dialect, ...], Defect]]):
    """The defects of one file by name: ``@DEFECTS.both`` names a function's defect after the function."""

    def add(self, name: str, defect: Defect, dialects: tuple[Dialect, ...] = BOTH) -> None:
        """Record a defect; a name is used once."""
        if name in self:
            message = f"two defects are called {name!r}; rename one"
            raise ValueError(message)
        self[name] = (dialects, defect)

    def both(self, defect: Defect) -> Defect:
        """A defect of both dialects."""
        self.add(_name(defect), defect)
        return defect

    def openai(self, defect: Defect) -> Defect:
        """A defect of openai_chat only."""
        self.add(_name(defect), defect, ("openai_chat",))
        return defect

    def anthropic(self, defect: Defect) -> Defect:
        """A defect of anthropic_messages only."""
        self.add(_name(defect), defect, ("anthropic_messages",))
        return defect


def _name(defect: Defect) -> str:
    return str(getattr(defect, "__name__", defect)).replace("_", "-")
