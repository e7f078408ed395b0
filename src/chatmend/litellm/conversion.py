"""What LiteLLM's own conversion of chat messages cannot send: facts, laid over the limits of the provider."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from chatmend.litellm.shapes import CHAT, RESPONSES
from chatmend.targets.resolve import Target, lay_over, resolve

if TYPE_CHECKING:
    from chatmend.targets.limits import Limits


@lru_cache(maxsize=1024)
def reached(name: str) -> Target:
    """A target as it is reached through LiteLLM. One that no table describes is left alone.

    Raises:
        TargetError: the name is empty, or a lone word that no table knows.
    """
    target = resolve(name)
    limits, hygiene = target.limits_in(CHAT.dialect), target.limits_in(CHAT.dialect, hygiene=True)
    if limits.roles is None:
        return target
    facts = _facts(f"{target.provider}/{target.model}".lower())
    chat: tuple[Limits, Limits] = (lay_over(limits, facts), lay_over(hygiene, facts))
    return replace(target, spoken={**target.spoken, CHAT.dialect: chat, RESPONSES.dialect: _items(target)})


def _items(target: Target) -> tuple[Limits, Limits]:
    """The limits of Responses items: LiteLLM's own conversion may have written text after the calls it came before."""
    name = RESPONSES.dialect
    limits, hygiene = target.limits_in(name), target.limits_in(name, hygiene=True)
    return replace(limits, words_behind_calls=True), replace(hygiene, words_behind_calls=True)


def _facts(name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in _table():
        if any(fnmatchcase(name, pattern) for pattern in entry["match"]):
            found |= entry["limits"]
    return found


@lru_cache(maxsize=1)
def _table() -> list[dict[str, Any]]:
    read = tomllib.loads(files(__package__).joinpath("conversion.toml").read_text("utf-8"))
    table: list[dict[str, Any]] = read["conversion"]
    return table
