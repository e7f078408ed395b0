"""The target of a call as ``provider/model``, resolved by LiteLLM without network access."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import litellm

from chatmend.litellm.quiet import without_prints
from chatmend.litellm.shapes import CONTENTS, MESSAGES
from chatmend.options import known_hosts
from chatmend.targets.addresses import target_at_address
from chatmend.targets.resolve import name_for
from chatmend.targets.tables import known_providers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.litellm.shapes import Shape

NO_LOOKUP = frozenset({"chatgpt", "github_copilot"})
"""Providers for which LiteLLM's lookup can sign in over the network.

It does for github_copilot (seen in 1.106.2), and may for chatgpt.
"""

_ADDRESS_VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
}
"""The variables from which LiteLLM reads the address of a provider, in order of precedence."""
_OWNERS = {MESSAGES.dialect: "anthropic", CONTENTS.dialect: "gemini"}
"""The provider that defined a dialect, for pass-through paths that name no provider."""


def target_of(kwargs: Mapping[str, Any]) -> str:
    """Return the target of a call, or the model as written if LiteLLM does not know it.

    Operators can set the target in the deployment's ``model_info``: ``chatmend_target`` is used
    unchanged, and ``base_model`` names the model if the name of the deployment does not, as on
    Azure. ``base_model`` can also be a parameter of the deployment or of the call.
    """
    found = kwargs.get("model_info")
    info = found if isinstance(found, dict) else {}
    if override := info.get("chatmend_target"):
        return str(override)
    alias = kwargs.get("base_model") or info.get("base_model")
    base = kwargs.get("api_base") or kwargs.get("base_url")
    base = base if isinstance(base, str) else None
    # A model that the caller passed by position is only in LiteLLM's record of the call.
    model = kwargs.get("model") or getattr(kwargs.get("litellm_logging_obj"), "model", None) or ""
    named = _resolve_name(model, kwargs.get("custom_llm_provider"), base)
    named = target_at_address(
        named, base or _configured_address(named.partition("/")[0]), known_hosts()
    )
    if alias:
        return _with_alias(named, str(alias).rpartition("/")[2])
    return name_for(named, kwargs, kwargs.get("data"))


def _with_alias(named: str, model: str) -> str:
    """Return a target with another name of its model, behind the route to an ARN of Bedrock."""
    provider, _, deployment = named.partition("/")
    route, arn, _ = deployment.partition("arn:")
    return f"{provider}/{route}{model}" if arn else f"{provider}/{model}"


def _configured_address(provider: str) -> str | None:
    """Return the address for calls that name none: LiteLLM's setting, or else a variable."""
    names = _ADDRESS_VARIABLES.get(provider, ())
    setting = litellm.api_base if names else None
    return setting or next((value for name in names if (value := os.environ.get(name))), None)


def _resolve_name(model: object, provider: object = None, base: str | None = None) -> str:
    try:
        return _look_up(model, provider, base)
    except Exception:  # noqa: BLE001 - LiteLLM raises various types for an unknown model
        return _as_written(str(model), provider)


def _as_written(model: str, provider: object) -> str:
    return f"{provider}/{model}" if provider and not model.startswith(f"{provider}/") else model


@lru_cache(maxsize=1024)
def _look_up(model: object, provider: object, base: str | None) -> str:
    named = _as_written(str(model), provider)
    if named.partition("/")[0] in NO_LOOKUP:
        return named
    with without_prints():
        bare, found, _, _ = litellm.get_llm_provider(
            str(model), custom_llm_provider=provider, api_base=base
        )
    return f"{found}/{bare}"


def target_of_route(path: str, model: object, shape: Shape) -> str:
    """Return the target of a pass-through request.

    ``/anthropic/v1/messages`` names the provider, the body the model. The provider is the first
    part of the path that is the name of one.
    """
    parts = [part.removesuffix("_passthrough") for part in path.strip("/").split("/")]
    provider = next((part for part in parts if part in known_providers()), parts[0])
    last = path.rpartition("/")[2]
    # Google's APIs name the model in the path, except where they count Claude's tokens.
    if (shape is CONTENTS or ":" in last) and not last.startswith("count-tokens:"):
        model = last.partition(":")[0]
    if provider in known_providers():
        return f"{provider}/{model or ''}"
    owner = _OWNERS.get(shape.dialect)
    return f"{owner}/{model or ''}" if owner else _resolve_name(model or "")
