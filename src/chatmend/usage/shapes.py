"""Data classes for the tables: trees of payload keys whose leaves are fields of the usage record.

A shape is the form in which a group of providers reports usage. There is one table per shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Counts = dict[str, tuple[str, str, str, str]]
"""The group, name, key and path of a `Leaf`, by key of the payload.

A tuple is faster to unpack than the attributes of a `Leaf` are to read.
"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number, flag or text of the payload, and the field of the usage record that it fills."""

    key: str
    """The field, or ``group.name`` for an entry in one of the record's mappings."""
    group: str
    name: str
    kind: str
    """``count`` (whole, not negative), ``amount``, ``text``, or ``warn`` (a flag for a warning)."""
    path: str
    scale: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A mapping in the payload. ``own`` is the leaf to use if the payload has a value instead."""

    keys: dict[str, Any]
    counts: Counts
    """The leaves in ``keys`` that accept a whole number without conversion."""
    path: str
    """The path of the mapping with a trailing dot, which is the prefix of its keys."""
    own: Leaf | None = None


@dataclass(frozen=True, slots=True)
class CountList:
    """A list with one count for each modality or cache lifetime."""

    count: str
    """The key of the count in each entry."""
    name: str
    """The key of the modality or lifetime in each entry."""
    leaves: dict[str, Leaf]
    other: Leaf
    """The leaf for unknown modalities."""


@dataclass(frozen=True, slots=True)
class SeparateUsage:
    """A usage object, or a list of them, that the surrounding usage does not include.

    Entries whose kind is in ``inside`` are included, so they are ignored.
    """

    shape: str
    kind: str
    """The key of the kind in each entry."""
    inside: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Part:
    """A count that its whole may exclude."""

    part: str
    whole: str
    counted: bool = False
    """Whether the part must be added to its whole if the total does not decide it."""


@dataclass(frozen=True, slots=True)
class Split:
    """A count that other counts divide."""

    whole: str
    parts: tuple[str, ...]
    rest: str = ""
    """The path of a value that is not the whole, but the remainder that no part contains."""


@dataclass(frozen=True, slots=True)
class UsageTable:
    """How to read one shape of usage."""

    shape: str
    rank: int
    marks: tuple[str, ...]
    """The keys that identify the shape."""
    path: str
    """The path of the usage object with a trailing dot; empty if it is the payload itself."""
    keys: dict[str, Any]
    counts: Counts
    parts: tuple[Part, ...]
    outside: bool
    """Whether one of the parts is ``counted``."""
    splits: tuple[Split, ...]
    remainders: tuple[tuple[Part, tuple[str, str]], ...]
    names: Mapping[str, Mapping[str, str]]
    body: bool
    """Whether the counts are mixed with content.

    If so, unknown keys are not searched, and only their direct numbers are listed as unread.
    """
    whole: str
    """A stream chunk that has this field is complete; it replaces earlier chunks."""
    highest: bool
    """Whether counts grow in a stream and 0 means unknown, so that the highest count is right."""
    provider: str
    """The only provider that uses this shape; empty if there are several."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Facts about one provider that are true for all shapes."""

    name: str
    names: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    outside_if_larger: tuple[str, ...] = ()
    may_be_larger: tuple[str, ...] = ()
    outside_together: tuple[str, ...] = ()
    """Parts of one whole: if it excludes one of them, or they exceed it, it excludes all."""
    remainder: Part | None = None
    rename: Mapping[str, str] | None = None
