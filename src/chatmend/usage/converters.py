"""The account as LiteLLM, LangChain and OpenTelemetry write it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatmend.usage.account import Usage

# LiteLLM 1.106, litellm/types/utils.py: Usage, PromptTokensDetailsWrapper, CompletionTokensDetailsWrapper. Its
# text_tokens of the input mean "less the cache" and are left out; it works them out itself.
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
_LITELLM_TOP = {"cache_read_input_tokens": "cache_read_tokens", "cache_creation_input_tokens": "cache_write_tokens"}

# langchain-core 1.7, langchain_core/messages/ai.py: InputTokenDetails, OutputTokenDetails; other keys are allowed.
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
"""Which of an account's details says how much of a modality was read from the cache."""
LANGCHAIN_TIERS = ("priority", "flex")
"""Service tiers: keys of their own in LangChain's details (all else of the call), and prefixes of others."""
_PRICED_FIRST = (
    *_LIFETIMES, "cache_creation", "cache_read", "reasoning", "audio", "image", "video", "tool_use_prompt",
)  # fmt: skip
"""LangChain's details in the order in which tokens are given to them; a tier and plain text get the rest."""

# https://github.com/open-telemetry/semantic-conventions-genai, as in opentelemetry-semantic-conventions 0.66b2.
_OPENTELEMETRY = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.provider.name": "provider",
    "gen_ai.response.model": "model",
}


def to_litellm(usage: "Usage") -> Any:  # noqa: ANN401 - a class of a package that may be absent
    """A ``litellm.Usage``. Totals that nobody reported are 0 there: LiteLLM knows no other way to say it."""
    prompt = _named(usage, _LITELLM_INPUT)
    if lifetimes := _named(usage, _LIFETIMES):
        prompt["cache_creation_token_details"] = lifetimes
    values: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": prompt or None,
        "completion_tokens_details": _named(usage, _LITELLM_OUTPUT) or None,
        **_named(usage, _LITELLM_TOP),
    }
    if usage.web_search_requests is not None:
        values["server_tool_use"] = {"web_search_requests": usage.web_search_requests}
    if usage.service_tier is not None:
        values["service_tier"] = usage.service_tier
    if usage.cost is not None and usage.cost_currency == "USD":
        values["cost"] = float(usage.cost)
    # found at run time: whoever asks for LiteLLM's class has it, and nobody else needs it
    return import_module("litellm").Usage(**values)


def to_langchain(usage: "Usage") -> dict[str, Any]:
    """LangChain's ``UsageMetadata``. Each token is in one detail at most: tracers price the details and add them up.

    What was written to the cache is in its lifetime, and in ``cache_creation`` only where no lifetime is known. A
    modality is what the cache does not hold of it.
    """
    values: dict[str, Any] = {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
    }
    given = _named(usage, _LANGCHAIN_INPUT)
    if "cache_creation" in given:
        given["cache_creation"] = max(0, given["cache_creation"] - sum(given.get(name, 0) for name in _LIFETIMES))
    for kind, cached in _CACHED.items():
        if kind in given:
            given[kind] = max(0, given[kind] - usage.details.get(cached, 0))
    if given:
        values["input_token_details"] = apart(given, values["input_tokens"])
    if written := _named(usage, _LANGCHAIN_OUTPUT):
        values["output_token_details"] = apart(written, values["output_tokens"])
    return values


def apart(details: "Mapping[str, int]", whole: int) -> dict[str, int]:
    """LangChain's details with no more tokens in all than the whole: a count yields what a narrower one holds already.

    The cache and the modalities both divide the whole, and providers rarely say how they overlap.
    """
    counts, left = dict(details), whole
    if sum(counts.values()) <= whole:
        return counts
    for name in sorted(counts, key=_rank):
        counts[name] = min(counts[name], left)
        left -= counts[name]
    return counts


def _rank(name: str) -> int:
    for tier in LANGCHAIN_TIERS:
        name = name.removeprefix(f"{tier}_")
    if name in _PRICED_FIRST:
        return _PRICED_FIRST.index(name)
    return len(_PRICED_FIRST) + (name in (*LANGCHAIN_TIERS, "text"))


def to_opentelemetry(usage: "Usage") -> dict[str, Any]:
    """What is known, under the names of the GenAI conventions; these have no name for a cost."""
    return _named(usage, _OPENTELEMETRY)


def _named(usage: "Usage", names: "Mapping[str, str]") -> dict[str, Any]:
    return {name: value for name, field in names.items() if (value := getattr(usage, field)) is not None}
