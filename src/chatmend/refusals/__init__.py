"""Finds the page that explains a provider's error message, in a table of known messages."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from chatmend.refusals.positions import with_paths

_QUOTES = str.maketrans(dict.fromkeys("'\"`\\\u2018\u2019\u201c\u201d", ""))
_LONGEST = 20_000
"""Characters of a pasted text that are searched."""
_WIDEST_GAP = 500
"""Characters between two parts of a message."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error message of a provider and the pages that explain it."""

    says: str
    """A regular expression for the text as ``normalise`` returns it."""
    pages: tuple[str, ...]
    """Rule codes or names of topics, the most likely first."""
    by: tuple[str, ...]
    """The targets that send this message; empty if there are many."""
    source: str
    """``recorded``, ``code``, ``docs``, ``seen``, ``inferred`` or ``mixed``.

    The comment at the start of ``refusals.toml`` explains these sources.
    """
    sample: str = ""
    """The text as the provider writes it, with ``…`` for parts that vary; may be empty."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A cause of refusals that no rule covers."""

    name: str
    title: str
    cause: str
    does: str
    """What chatmend does about it."""


@lru_cache(maxsize=1)
def refusals() -> tuple[Refusal, ...]:
    """Return all known error messages in the order of the table."""
    rows = _table()["refusals"]
    return tuple(
        Refusal(
            row["says"],
            tuple(row["pages"]),
            tuple(row["by"]),
            row["source"],
            row.get("sample", ""),
        )
        for row in rows
    )


@lru_cache(maxsize=1)
def topics() -> dict[str, Topic]:
    """Return all topics by name."""
    return {name: Topic(name, **topic) for name, topic in _table()["topics"].items()}


def search(text: str) -> Refusal | None:
    """Return the first entry of the table that matches an error message, or None.

    Args:
        text: the message or a part of it, the JSON body, or the output of a client library that
            contains it.
    """
    normalised = normalise(with_paths(text[:_LONGEST]))
    return next((one for one in refusals() if compiled(one.says).search(normalised)), None)


@cache
def compiled(says: str) -> re.Pattern[str]:
    """Compile an expression of the tables; ``.*`` matches at most 500 characters.

    Otherwise a text that repeats the words before ``.*`` would take seconds.
    """
    return re.compile(says.replace(".*", f".{{0,{_WIDEST_GAP}}}"))


def normalise(text: str) -> str:
    """Return a text in lower case, without quotes and backslashes, with single spaces."""
    return " ".join(text[:_LONGEST].translate(_QUOTES).lower().split())


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("refusals.toml").read_text("utf-8"))
