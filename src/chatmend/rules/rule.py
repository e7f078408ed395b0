"""What a rule is, and what it may know."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatmend.sketch import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.changes import Change, Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import Seen
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


Judge = Callable[[Any], object]
"""Says the class of a value, which can be hashed: None or False for one like most; values of one class are alike to the
rule."""
Judges = Mapping[str, "Callable[[Limits, Traits], Judge | None]"]
"""For a column of values what makes its judge for a target; None: the target does not mind."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """Makes a judge of parts that looks only at those with one of some keys."""

    keys: frozenset[str]
    make: Callable[[Limits, Traits], Judge | None]

    def __call__(self, limits: Limits, traits: Traits) -> Judge | None:
        """The judge for a target."""
        return self.make(limits, traits)


STRUCTURE: Judges = {}
"""What a rule judges that goes by keys, types, roles and order, and by whether texts are empty or can be encoded."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One defect: how it is named, what it judges, and what would mend it.

    ``find`` proposes fixes for one window in ascending order, none overlapping another. It must not change anything.
    """

    code: str
    name: str
    find: Callable[[Window, Memory, Context], Iterable[Fix]]
    judges: Judges | None = None
    """What decides whether it has something to say. None: anything, so it looks at every window."""
    watches: Callable[[Limits, Traits], Callable[[Seen], bool] | None] | None = None
    """Makes for a target what says of a structure that the values in it decide: there it looks at every window."""
    owns: Mapping[str, type] = field(default_factory=dict)
    """Limits that no other rule asks for, with the types of their values: ``Limits.of`` gives them."""
    cuts: bool = False
    """Whether each turn of the window is a window of its own for the rules behind it."""

    def __post_init__(self) -> None:
        """Refuse a column that no sketch fills: the rule would never run.

        Raises:
            ValueError: ``judges`` names one.
        """
        if unknown := set(self.judges or ()) - COLUMNS:
            text = f"{self.name}: no column {min(unknown)!r} of values; take one of {', '.join(sorted(COLUMNS))}"
            raise ValueError(text)

    @property
    def manual(self) -> str:
        """The docstring of the rule's file: what, why, what the repair does, an example."""
        return sys.modules[self.find.__module__].__doc__ or ""


@dataclass(frozen=True, slots=True)
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
    counts: Callable[[Message], bool] | None = None
    """Whether a message holds what it counts; where none does, it has nothing to say. None: it always looks."""

    @property
    def manual(self) -> str:
        """The docstring of the rule's file."""
        return sys.modules[self.apply.__module__].__doc__ or ""
