"""What providers say when they refuse a request, and which page tells why: a table, and the search in it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

_QUOTES = str.maketrans(dict.fromkeys("'\"`\\\u2018\u2019\u201c\u201d", ""))
_LONGEST = 20_000
"""Characters of a pasted text that are looked at."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A text that providers answer with."""

    says: str
    """Regular expression for the text as ``plain`` gives it."""
    pages: tuple[str, ...]
    """Codes of rules, the likeliest first, or names of topics."""
    by: tuple[str, ...]
    """Targets that say it; empty: many."""
    source: str
    """How it is known: ``recorded``, ``code``, ``docs``, ``seen``, ``inferred`` or ``mixed``."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A cause of refusals that no rule is about."""

    name: str
    title: str
    cause: str
    does: str
    """What chatmend does about it."""


@lru_cache(maxsize=1)
def refusals() -> tuple[Refusal, ...]:
    """Every known text, in the order of the table."""
    rows = _table()["refusals"]
    return tuple(Refusal(row["says"], tuple(row["pages"]), tuple(row["by"]), row["source"]) for row in rows)


@lru_cache(maxsize=1)
def topics() -> dict[str, Topic]:
    """Every topic by its name."""
    return {name: Topic(name, **topic) for name, topic in _table()["topics"].items()}


def search(text: str) -> Refusal | None:
    """What the table knows about a provider's answer, pasted whole or in part; of several texts the first.

    The text may be the bare message, the JSON body, or what a client library prints around them.
    """
    said = plain(text)
    return next((refusal for refusal in refusals() if re.search(refusal.says, said)), None)


def plain(text: str) -> str:
    """The text in lower case, without quotes, backticks and backslashes, each run of white space one space."""
    return " ".join(text[:_LONGEST].translate(_QUOTES).lower().split())


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("refusals.toml").read_text("utf-8"))
