"""Converts usage records to the forms of LiteLLM, LangChain and OpenTelemetry."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.usage.usage_record import Usage

# LiteLLM 1.106, litellm/types/utils.py: Usage, PromptTokensDetailsWrapper,
# CompletionTokensDetailsWrapper. The text_tokens of the input are left out: LiteLLM computes them,
# without cached tokens.
_LITELLM_INPUT = {
    "cached_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "audio_tokens": "input_audio_tokens",
    "image_tokens": "input_image_tokens",
    "video_tokens": "input_video_tokens",
    "tool_use_tokens": "tool_use_prompt_tokens",
}
_LITELLM_OUTPUT = {
    "reasoning_tokens": "reasoning_tokens",
    "text_tokens": "output_text_tokens",
    "audio_tokens": "output_audio_tokens",
    "image_tokens": "output_image_tokens",
    "video_tokens": "output_video_tokens",
}
_LIFETIMES = {
    "ephemeral_5m_input_tokens": "cache_write_5m_tokens",
    "ephemeral_1h_input_tokens": "cache_write_1h_tokens",
}
_LITELLM_TOP = {
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}

# langchain-core 1.7, langchain_core/messages/ai.py: InputTokenDetails, OutputTokenDetails. Other
# keys are allowed.
_LANGCHAIN_INPUT = {
    "audio": "input_audio_tokens",
    "cache_creation": "cache_write_tokens",
    "cache_read": "cache_read_tokens",
    **_LIFETIMES,
    "text": "input_text_tokens",
    "image": "input_image_tokens",
    "video": "input_video_tokens",
    "tool_use_prompt": "tool_use_prompt_tokens",
}
_LANGCHAIN_OUTPUT = {
    "audio": "output_audio_tokens",
    "reasoning": "reasoning_tokens",
    "text": "output_text_tokens",
    "image": "output_image_tokens",
    "video": "output_video_tokens",
}
_CACHED = {kind: f"cache_read_{kind}_tokens" for kind in ("audio", "text", "image", "video")}
"""The entry of ``Usage.details`` with the cached tokens of each modality."""
LANGCHAIN_TIERS = ("priority", "flex")
"""Service tiers. LangChain's details use them as prefixes, and as keys for all other tokens."""
_PRICED_FIRST = (
    *_LIFETIMES,
    "cache_creation",
    "cache_read",
    "reasoning",
    "audio",
    "image",
    "video",
    "tool_use_prompt",
)
"""The order in which LangChain's details get tokens. Service tiers and text get the remainder."""

# https://github.com/open-telemetry/semantic-conventions-genai, as in
# opentelemetry-semantic-conventions 0.66b2.
_OPENTELEMETRY = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.provider.name": "provider",
    "gen_ai.response.model": "model",
}


def to_litellm(usage: "Usage") -> Any:  # noqa: ANN401 - litellm may not be installed
    """Convert to a ``litellm.Usage``. Unreported totals become 0, because None is not allowed."""
    prompt = _rename_fields(usage, _LITELLM_INPUT)
    if lifetimes := _rename_fields(usage, _LIFETIMES):
        prompt["cache_creation_token_details"] = lifetimes
    values: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": prompt or None,
        "completion_tokens_details": _rename_fields(usage, _LITELLM_OUTPUT) or None,
        **_rename_fields(usage, _LITELLM_TOP),
    }
    if usage.web_search_requests is not None:
        values["server_tool_use"] = {"web_search_requests": usage.web_search_requests}
    if usage.service_tier is not None:
        values["service_tier"] = usage.service_tier
    if usage.cost is not None and usage.cost_currency == "USD":
        values["cost"] = float(usage.cost)
    # Imported at run time, because litellm is optional.
    return import_module("litellm").Usage(**values)


def to_langchain(usage: "Usage") -> dict[str, Any]:
    """Convert to LangChain's ``UsageMetadata``, with each token in one detail at most.

    Tracers multiply each detail by a price and add the results, so no token may count twice. Tokens
    written to the cache are under their lifetime, or under ``cache_creation`` if it is unknown. A
    modality excludes cached tokens.
    """
    values: dict[str, Any] = {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
    }
    given = _rename_fields(usage, _LANGCHAIN_INPUT)
    if "cache_creation" in given:
        given["cache_creation"] = max(
            0, given["cache_creation"] - sum(given.get(name, 0) for name in _LIFETIMES)
        )
    for kind, cached in _CACHED.items():
        if kind in given:
            given[kind] = max(0, given[kind] - usage.details.get(cached, 0))
    if given:
        values["input_token_details"] = limit_details(given, values["input_tokens"])
    if written := _rename_fields(usage, _LANGCHAIN_OUTPUT):
        values["output_token_details"] = limit_details(written, values["output_tokens"])
    return values


def limit_details(details: "Mapping[str, int]", whole: int) -> dict[str, int]:
    """Return LangChain's details, reduced so that they do not exceed the whole.

    Cache and modalities both divide the whole, and providers rarely report how they overlap. So the
    details get tokens in the order of their priority until none are left.
    """
    counts, left = dict(details), whole
    if sum(counts.values()) <= whole:
        return counts
    for name in sorted(counts, key=_priority):
        counts[name] = min(counts[name], left)
        left -= counts[name]
    return counts


def _priority(name: str) -> int:
    for tier in LANGCHAIN_TIERS:
        name = name.removeprefix(f"{tier}_")
    if name in _PRICED_FIRST:
        return _PRICED_FIRST.index(name)
    return len(_PRICED_FIRST) + (name in (*LANGCHAIN_TIERS, "text"))


def to_opentelemetry(usage: "Usage") -> dict[str, Any]:
    """Convert to attributes of the GenAI conventions, which have no attribute for a cost."""
    return _rename_fields(usage, _OPENTELEMETRY)


def _rename_fields(usage: "Usage", names: "Mapping[str, str]") -> dict[str, Any]:
    return {
        name: value for name, field in names.items() if (value := getattr(usage, field)) is not None
    }
