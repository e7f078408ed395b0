"""What a rule is, and what it may know."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.policy import Policy
from chatmend.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change, Fix
    from chatmend.dialects import Dialect, Traits
    from chatmend.images.recompressor import Recompressor
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_DEFAULT = Policy()


@record
class Context:
    """What holds for the whole request: the limits, as its target, the caller and what stands beside make them."""

    limits: Limits
    dialect: Dialect
    policy: Policy = _DEFAULT
    recompressor: Recompressor | None = None
    """What recompresses images; None: the one that the process shares."""

    @property
    def traits(self) -> Traits:
        """How the dialect arranges what every dialect has."""
        return self.dialect.TRAITS


Choose = Callable[[object], object]
"""Says for the id of a call which one it gets: the same one where it stays. Asked once for each call, in order."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """How a rule gives calls other ids."""

    why: str
    chooser: Callable[[set[str], Memory, Context], Choose | None]
    """Makes what chooses for one window, with the ids that its calls have; None where the target takes any."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One defect: how it is named, when it is worth looking, and what would mend it.

    ``find`` proposes fixes for one window in ascending order, none overlapping another. It must not change anything.
    """

    code: str
    name: str
    symptoms: int
    find: Callable[[Window, Memory, Context], Iterable[Fix]]
    renaming: Renaming | None = None
    """Where all that it does is to give calls other ids: how. That can be done to a window that nobody has read."""
    cuts: bool = False
    """Whether each turn of the window is a window of its own for the rules behind it."""

    @property
    def manual(self) -> str:
        """The docstring of the rule's file: what, why, what the repair does, an example."""
        return sys.modules[self.find.__module__].__doc__ or ""


@record
class Request:
    """The messages of a request with what stands beside them."""

    messages: list[Any]
    system: object = None
    tools: object = None


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A defect of the request as a whole, which no window shows: a total, or what stands beside the messages.

    ``apply`` gives back the request (the same object when nothing is wrong) and what was changed in it.
    """

    code: str
    name: str
    apply: Callable[[Request, Context], tuple[Request, list[Change]]]
    counts_parts: bool = False
    """Whether it has nothing to say where no part is an image, or may carry a cache marker."""

    @property
    def manual(self) -> str:
        """The docstring of the rule's file."""
        return sys.modules[self.apply.__module__].__doc__ or ""
