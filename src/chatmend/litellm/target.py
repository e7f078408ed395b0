"""Where a call goes, as ``provider/model``: asked of LiteLLM, without ever letting it touch the network."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import litellm

from chatmend.litellm.shapes import CONTENTS, MESSAGES
from chatmend.options import known_hosts
from chatmend.targets.hosts import addressed
from chatmend.targets.resolve import known_providers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.litellm.shapes import Shape

NO_LOOKUP = frozenset({"chatgpt", "github_copilot"})
"""Providers whose look-up in LiteLLM signs in over the network (github_copilot: seen in 1.106.2; chatgpt: may)."""

_VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
}
"""In which variables LiteLLM looks for an address, in order."""
_OWNERS = {MESSAGES.dialect: "anthropic", CONTENTS.dialect: "gemini"}
"""Whose dialect it is, where a pass-through path does not say who answers."""


def target_of(kwargs: Mapping[str, Any]) -> str:
    """Name where a call goes; the model as it was written where LiteLLM does not know it.

    An operator may say it in the deployment's ``model_info``: ``chatmend_target`` is taken as it is, and ``base_model``
    stands for a model whose deployment has another name, as on Azure.
    """
    info, alias = kwargs.get("model_info"), None
    if isinstance(info, dict):
        if told := info.get("chatmend_target"):
            return str(told)
        alias = info.get("base_model")
    base = kwargs.get("api_base") or kwargs.get("base_url")
    base = base if isinstance(base, str) else None
    named = _named(kwargs.get("model") or "", kwargs.get("custom_llm_provider"), base)
    named = addressed(named, base or _address_set(named.partition("/")[0]), known_hosts())
    return f"{named.partition('/')[0]}/{str(alias).rpartition('/')[2]}" if alias else named


def _address_set(provider: str) -> str | None:
    """The address that LiteLLM sends to where the call names none: its own setting, then the environment's."""
    names = _VARIABLES.get(provider, ())
    set_here = litellm.api_base if names else None
    return set_here or next((value for name in names if (value := os.environ.get(name))), None)


def _named(model: object, provider: object = None, base: str | None = None) -> str:
    try:
        return _looked_up(model, provider, base)
    except Exception:  # noqa: BLE001 - it raises many things for a model that it does not know; that is no failure
        return _as_written(str(model), provider)


def _as_written(model: str, provider: object) -> str:
    return f"{provider}/{model}" if provider and not model.startswith(f"{provider}/") else model


@lru_cache(maxsize=1024)
def _looked_up(model: object, provider: object, base: str | None) -> str:
    named = _as_written(str(model), provider)
    if named.partition("/")[0] in NO_LOOKUP:
        return named
    bare, found, _, _ = litellm.get_llm_provider(str(model), custom_llm_provider=provider, api_base=base)
    return f"{found}/{bare}"


def target_of_route(path: str, model: object, shape: Shape) -> str:
    """Name where a pass-through request goes: ``/anthropic/v1/messages`` names the provider, the body the model."""
    provider = path.strip("/").partition("/")[0].removesuffix("_passthrough")
    if shape is CONTENTS:
        model = path.rpartition("/")[2].partition(":")[0]
    if provider in known_providers():
        return f"{provider}/{model or ''}"
    owner = _OWNERS.get(shape.dialect)
    return f"{owner}/{model or ''}" if owner else _named(model or "")
