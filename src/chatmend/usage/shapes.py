"""What a table says, as data classes: trees of keys whose leaves are fields of the account."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Counts = dict[str, tuple[str, str, str, str]]
"""A payload's key to the group, name, whole key and path of a `Leaf`: unpacked at once, which attributes are not."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number, flag or word of the payload, and the field that it is."""

    key: str
    """The field, or ``group.name`` in one of the account's mappings."""
    group: str
    name: str
    kind: str
    """``count`` (whole, not negative), ``amount``, ``text``, or ``warn``: a flag that becomes a warning."""
    path: str
    scale: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A mapping inside the payload. ``own`` is what it is where it holds no mapping but a value."""

    keys: dict[str, Any]
    counts: Counts
    """The leaves among the keys that take a whole number as it stands."""
    path: str
    """Of the keys inside: where the mapping stands, with a dot after it."""
    own: Leaf | None = None


@dataclass(frozen=True, slots=True)
class Each:
    """A list of counts, one per modality or lifetime."""

    count: str
    name: str
    leaves: dict[str, Leaf]
    other: Leaf


@dataclass(frozen=True, slots=True)
class Beside:
    """An account, or a list of them, that is not inside the one around it."""

    shape: str
    kind: str
    inside: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Part:
    """A count that may lie outside the whole that it belongs to."""

    part: str
    whole: str
    counted: bool = False
    """Whether it does where the total cannot tell."""


@dataclass(frozen=True, slots=True)
class Split:
    """A count that others divide."""

    whole: str
    parts: tuple[str, ...]
    rest: str = ""
    """The path at which not the whole stands but what no part names."""


@dataclass(frozen=True, slots=True)
class Table:
    """How one shape of account is read."""

    shape: str
    rank: int
    marks: tuple[str, ...]
    path: str
    """Of the keys: where the account stands, with a dot after it; empty where it is the payload."""
    keys: dict[str, Any]
    counts: Counts
    parts: tuple[Part, ...]
    outside: bool
    """Whether some parts lie outside their wholes by rule."""
    splits: tuple[Split, ...]
    remainders: tuple[tuple[Part, tuple[str, str]], ...]
    names: Mapping[str, Mapping[str, str]]
    body: bool
    """The counts stand among the content: only direct numbers are looked at, and only known keys entered."""
    whole: str
    """A chunk with this field is a whole account; it replaces what came before."""
    highest: bool
    """A stream counts up, and says 0 where it has nothing to say: the highest count is right."""
    provider: str
    """Who it must be that answers in this shape; empty where many do."""


@dataclass(frozen=True, slots=True)
class Provider:
    """What is true of one provider whatever shape it answers in."""

    name: str
    names: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    outside_if_larger: tuple[str, ...] = ()
    may_be_larger: tuple[str, ...] = ()
    remainder: Part | None = None
    rename: Mapping[str, str] | None = None
