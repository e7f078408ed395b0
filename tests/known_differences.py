"""Differences between two versions that are known: each changed on purpose, with its reason.

``tests/known_differences.toml`` lists them for ``tests.equivalence --known``. A difference between
two repairs is explained if each of its parts is one that an entry names, or that may follow from it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Case = tuple[str, str, str | None]
"""The dialect, the target and the policy of a repair."""
MORE, FEWER, CHANGED = "more", "fewer", "changed"
"""One version has more changes of a rule, fewer, or as many with other content."""


@dataclass(frozen=True, slots=True)
class Known:
    """A class of differences."""

    reason: str
    since: str
    """The commit that changed it."""
    differs: frozenset[str]
    """The parts of which at least one belongs to each difference, such as ``FILE001 more``."""
    follows: frozenset[str] = frozenset()
    """Further parts that may follow from it."""
    dialects: tuple[str, ...] = ()
    """The only dialects in which it occurs; empty: all."""
    targets: str = ""
    """A regular expression for the targets."""
    policies: tuple[str, ...] = ()
    """The only policies with which it occurs; empty: all."""

    def concerns(self, case: Case, parts: frozenset[str]) -> bool:
        """Return whether a difference of these parts belongs to the class."""
        dialect, target, policy = case
        return (
            (not self.dialects or dialect in self.dialects)
            and (not self.policies or policy in self.policies)
            and re.search(self.targets, target) is not None
            and not self.differs.isdisjoint(parts)
        )


def load(path: Path) -> list[Known]:
    """Read the known differences from a TOML file."""
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["difference"]
    return [
        Known(
            entry["reason"],
            entry["since"],
            frozenset(entry["differs"]),
            frozenset(entry.get("follows", ())),
            tuple(entry.get("dialects", ())),
            entry.get("targets", ""),
            tuple(entry.get("policies", ())),
        )
        for entry in entries
    ]


def explain(case: Case, parts: frozenset[str], known: Sequence[Known]) -> list[Known]:
    """Return the known differences that explain all parts of a difference; empty if none do.

    A change with other content may follow from each of them: it was applied to a message that
    another change had altered.
    """
    found = [entry for entry in known if entry.concerns(case, parts)]
    covered = frozenset[str]().union(*(entry.differs | entry.follows for entry in found))
    left = [part for part in parts - covered if not part.endswith(CHANGED)]
    return [] if left else found
