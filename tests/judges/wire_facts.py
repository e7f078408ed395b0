"""Judge: the certain refusals of each Chat Completions provider, read from ``openai_facts.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .message_checks import CHECKS

if TYPE_CHECKING:
    from .request import Json, Request


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of the table."""

    rule: str
    """Its id in ``provider_rules.jsonl``."""
    providers: tuple[str, ...]
    check: str
    """The name of a function in ``message_checks``."""
    value: Json = None
    """The limit that the check takes."""
    unless: str = ""
    """Targets whose name begins so have another limit."""
    because: str = ""
    """Why a rule is included although the collection doubts it."""


@cache
def facts() -> tuple[Fact, ...]:
    """The table."""
    rows = tomllib.loads(Path(__file__).with_name("openai_facts.toml").read_text(encoding="utf-8"))[
        "fact"
    ]
    return tuple(Fact(**{**row, "providers": tuple(row["providers"])}) for row in rows)


def wire_facts(request: Request) -> list[str]:
    """Every fact of the request's provider that it breaks."""
    return [
        f"{fact.rule}: {what}"
        for fact in facts()
        if request.provider in fact.providers
        and not (fact.unless and request.target.startswith(fact.unless))
        for what in CHECKS[fact.check](request, fact.value)
    ]
