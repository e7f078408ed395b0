"""Limits of LiteLLM's own conversion, which are added to the limits of the provider."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from chatmend.litellm.shapes import CHAT, RESPONSES
from chatmend.targets.resolve import Target, apply_facts, resolve

if TYPE_CHECKING:
    from chatmend.targets.limits import Limits


@lru_cache(maxsize=1024)
def target_through_litellm(name: str) -> Target:
    """Return a target whose limits include those of LiteLLM's conversion.

    A target that no table describes is returned unchanged.

    Raises:
        TargetError: the name is empty, or is a single word that no table describes.
    """
    target = resolve(name)
    limits, hygiene = target.limits_in(CHAT.dialect), target.limits_in(CHAT.dialect, hygiene=True)
    if limits.roles is None:
        return target
    facts = _facts(f"{target.provider}/{target.model}".lower())
    chat: tuple[Limits, Limits] = (
        _without_images_in_results(apply_facts(limits, facts)),
        apply_facts(hygiene, facts),
    )
    return replace(
        target,
        spoken={**target.spoken, CHAT.dialect: chat, RESPONSES.dialect: _responses_limits(target)},
    )


def _without_images_in_results(limits: Limits) -> Limits:
    """Return limits without images in tool results if no user message may follow these directly.

    LiteLLM moves such images into a user message behind the results
    (``hoist_images_from_tool_messages`` in 1.106.2).
    """
    if limits.user_after_tool:
        return limits
    roles = limits.images.roles or frozenset({"system", "user", "assistant", "tool"})
    return replace(limits, images=replace(limits.images, roles=roles - {"tool"}))


def _responses_limits(target: Target) -> tuple[Limits, Limits]:
    """Return the limits of Responses items, in which assistant text may follow a tool call.

    LiteLLM's conversion to items places text after the calls that it preceded.
    """
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
