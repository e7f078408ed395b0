"""The types of rules: what a rule is and what it declares about itself."""

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
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


Judge = Callable[[Any], object]
"""Returns the class of a value: a hashable object, None or False for most values.

The rule must treat all values of the same class alike. If the decision on a value depends on more
than the value, the judge raises ``sketch.Unsketched``: all rules then run on its window each time.
"""
Judges = Mapping[str, "Callable[[Limits, Traits], Judge | None]"]
"""For each column of values, a function that makes the judge for a target.

The function returns None if the rule does not depend on these values for the target.
"""


@dataclass(frozen=True, slots=True)
class KeyedJudge:
    """Makes a judge for those parts that have at least one of some keys."""

    keys: frozenset[str]
    make: Callable[[Limits, Traits], Judge | None]

    def __call__(self, limits: Limits, traits: Traits) -> Judge | None:
        """Make the judge for a target."""
        return self.make(limits, traits)


STRUCTURE: Judges = {}
"""Declares that a rule depends on no values.

It depends only on keys, types, roles and order, and on whether texts are empty or can be encoded.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A kind of defect: its code and name, how it is found, and what the decision depends on.

    ``find`` proposes fixes for one window, in ascending order and without overlaps. It must not
    change the window or its messages.
    """

    code: str
    name: str
    find: Callable[[Window, Memory, Context], Iterable[Fix]]
    judges: Judges | None = None
    """The values that the rule depends on. None: any value, so the rule runs on every window."""
    watches: Callable[[Limits, Traits], Callable[[WindowSketch], bool] | None] | None = None
    """Makes a check for a target: whether the rule must run on every window of a structure.

    It is for structures in which the rule depends on values that no judge can classify.
    """
    rename: Callable[[object, Memory, Limits, set[str]], object] | None = None
    """Return the id that replaces the id of a call; the last argument holds the ids of the window.

    Only for a rule whose fixes do nothing but rename calls and their results by this function.
    """
    why: str = ""
    """The reason of all fixes of such a rule."""
    own_limits: Mapping[str, type] = field(default_factory=dict)
    """Limits that only this rule uses, with the types of their values; see ``Limits.of``."""
    splits_window: bool = False
    """Whether the rules after this one run on each turn of the window separately."""

    def __post_init__(self) -> None:
        """Check that the columns in ``judges`` exist; otherwise the rule would never run.

        Raises:
            ValueError: a column does not exist.
        """
        if unknown := set(self.judges or ()) - COLUMNS:
            text = (
                f"{self.name}: unknown column {min(unknown)!r}; "
                f"use one of {', '.join(sorted(COLUMNS))}"
            )
            raise ValueError(text)

    @property
    def manual(self) -> str:
        """The docstring of the rule's module: summary, reason, repair and examples."""
        return sys.modules[self.find.__module__].__doc__ or ""


@dataclass(frozen=True, slots=True)
class Request:
    """The messages of a request, with those parameters that rules check."""

    messages: list[Any]
    system: object = None
    tools: object = None
    cache_control: object = None
    """The automatic cache marker of the request, which Anthropic sets on its last block."""
    thinking: object = None
    """The parameter that enables thinking."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestRule:
    """A defect of the whole request that no single window shows, such as a total.

    ``apply`` returns the request (the same object if nothing is wrong) and the changes.
    """

    code: str
    name: str
    apply: Callable[[Request, Context], tuple[Request, list[Change]]]
    has_counted_content: Callable[[Message], bool] | None = None
    """Whether a message holds what the rule counts; if no message does, the rule is skipped.

    It depends only on the structure of the message. None: the rule always runs.
    """
    is_idle: Callable[[Request, Context], bool] | None = None
    """Whether the parameters of a request show that the rule finds nothing in any messages."""
    counts_markers: bool = False
    """Whether the rule also counts the cache markers of the system prompt and the tools."""
    own_limits: Mapping[str, type] = field(default_factory=dict)
    """Limits that only this rule uses, as in ``Rule``."""

    @property
    def manual(self) -> str:
        """The docstring of the rule's module."""
        return sys.modules[self.apply.__module__].__doc__ or ""
