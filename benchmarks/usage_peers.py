"""Reads the usage of recorded payloads with functions of LiteLLM, LangChain and genai-prices.

Each reader takes a row of the corpus and its final usage. It returns input, output, cache read,
cache write and reasoning tokens; None if the library gives no result.
"""

import json
from typing import Any

Counts = dict[str, int]
_PROVIDERS = {"xai": "x-ai", "bedrock": "aws", "vertex": "google", "together": "together"}
_FLAVORS = {"cohere": "tokens"}
"""genai-prices' name of the format, where it is not the name of the API.

For Cohere, ``tokens`` selects the tokens that the model processed, not the billed ones.
"""


def litellm(row: dict[str, Any], usage: dict[str, Any]) -> Counts | None:
    """Read the usage with the transformation of LiteLLM's module for the provider."""
    family = row["expected"]["family"]
    read = _LITELLM[family](row, dict(usage))
    inputs, outputs = read.prompt_tokens_details, read.completion_tokens_details
    return {
        "input": read.prompt_tokens,
        "output": read.completion_tokens,
        "cache_read": getattr(inputs, "cached_tokens", None) or 0,
        "cache_write": getattr(inputs, "cache_creation_tokens", None)
        or getattr(read, "cache_creation_input_tokens", 0)
        or 0,
        "reasoning": getattr(outputs, "reasoning_tokens", None) or 0,
    }


def _litellm_chat(row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from litellm import Usage
    from litellm.llms.xai.chat.transformation import XAIChatConfig

    if row["provider"] == "xai":
        XAIChatConfig.fold_reasoning_tokens_into_completion(usage)
    return Usage(**usage)


def _litellm_anthropic(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    return AnthropicConfig().calculate_usage(usage_object=usage, reasoning_content=None)


def _litellm_gemini(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig

    return VertexGeminiConfig._calculate_usage({"usageMetadata": usage})


def _litellm_converse(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig

    return AmazonConverseConfig().transform_usage(usage)


def _litellm_responses(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from litellm.responses.utils import ResponseAPILoggingUtils

    return ResponseAPILoggingUtils._transform_response_api_usage_to_chat_usage(usage)


def _litellm_cohere(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    # Copied from CohereV2ChatConfig.transform_response, which requires an HTTP response.
    from litellm import Usage

    tokens = usage.get("tokens", {})
    inputs, outputs = tokens.get("input_tokens", 0), tokens.get("output_tokens", 0)
    return Usage(prompt_tokens=inputs, completion_tokens=outputs, total_tokens=inputs + outputs)


_LITELLM = {
    "openai_chat": _litellm_chat,
    "openai_responses": _litellm_responses,
    "anthropic": _litellm_anthropic,
    "anthropic_iterations": _litellm_anthropic,
    "gemini": _litellm_gemini,
    "converse": _litellm_converse,
    "cohere": _litellm_cohere,
}


def langchain(row: dict[str, Any], usage: dict[str, Any]) -> Counts | None:
    """Read the usage with the function of the partner package that builds ``usage_metadata``."""
    family = row["expected"]["family"]
    if row["stream"] and family.startswith("anthropic"):
        # The package reads only message_delta in a stream.
        usage = next(
            (one["usage"] for one in reversed(row["raw_usage"]) if one["event"] == "message_delta"),
            usage,
        )
    read = _LANGCHAIN[family](row, dict(usage))
    if read is None:
        return None
    inputs, outputs = read.get("input_token_details") or {}, read.get("output_token_details") or {}
    lifetimes = (inputs.get("ephemeral_5m_input_tokens") or 0) + (
        inputs.get("ephemeral_1h_input_tokens") or 0
    )
    return {
        "input": read["input_tokens"],
        "output": read["output_tokens"],
        "cache_read": inputs.get("cache_read") or 0,
        "cache_write": (inputs.get("cache_creation") or 0) + lifetimes,
        "reasoning": outputs.get("reasoning") or 0,
    }


def _langchain_chat(row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from langchain_openai.chat_models.base import _create_usage_metadata

    if row["provider"] == "mistral":  # langchain_mistralai 1.1 reads only these three
        names = {
            "input_tokens": "prompt_tokens",
            "output_tokens": "completion_tokens",
            "total_tokens": "total_tokens",
        }
        return {name: usage.get(key, 0) for name, key in names.items()}
    read: dict[str, Any] = dict(_create_usage_metadata(usage))
    if row["provider"] == "xai":  # langchain_xai 1.3 adds the reasoning
        read["output_tokens"] += (read.get("output_token_details") or {}).get("reasoning") or 0
    return read


def _langchain_responses(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from langchain_openai.chat_models.base import _create_usage_metadata_responses

    return _create_usage_metadata_responses(usage)


def _langchain_anthropic(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from anthropic.types import Usage
    from langchain_anthropic.chat_models import _create_usage_metadata

    return _create_usage_metadata(Usage.model_construct(**usage))


def _langchain_gemini(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from google.ai.generativelanguage_v1beta.types import GenerateContentResponse
    from langchain_google_genai.chat_models import _response_to_result

    names = (
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
        "cachedContentTokenCount",
        "thoughtsTokenCount",
    )
    counts = {name: usage[name] for name in names if name in usage}
    body = {
        "candidates": [{"content": {"parts": [{"text": "x"}], "role": "model"}}],
        "usageMetadata": counts,
    }
    result = _response_to_result(GenerateContentResponse.from_json(json.dumps(body)))
    return getattr(result.generations[0].message, "usage_metadata", None)


def _langchain_converse(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from langchain_aws.chat_models.bedrock_converse import _extract_usage_metadata

    return _extract_usage_metadata({"usage": usage})


def _langchain_cohere(_row: dict[str, Any], usage: dict[str, Any]) -> Any:
    from types import SimpleNamespace

    from langchain_cohere.chat_models import _get_usage_metadata_v2

    tokens = SimpleNamespace(**usage["tokens"]) if usage.get("tokens") else None
    return _get_usage_metadata_v2(
        SimpleNamespace(usage=SimpleNamespace(tokens=tokens))  # type: ignore[arg-type]
    )


_LANGCHAIN = {
    "openai_chat": _langchain_chat,
    "openai_responses": _langchain_responses,
    "anthropic": _langchain_anthropic,
    "anthropic_iterations": _langchain_anthropic,
    "gemini": _langchain_gemini,
    "converse": _langchain_converse,
    "cohere": _langchain_cohere,
}


def genai_prices(row: dict[str, Any], usage: dict[str, Any]) -> Counts | None:
    """Read the usage with genai-prices' ``extract_usage`` from a body as the provider sends it."""
    from genai_prices import extract_usage

    provider = _PROVIDERS.get(row["provider"], row["provider"])
    body = {
        "model": row["model"],
        "modelId": row["model"],
        "modelVersion": row["model"],
        "usage": usage,
        "usageMetadata": usage,
    }
    for flavor in (_FLAVORS.get(row["provider"], row["api"]), "default"):
        try:
            read = extract_usage(body, provider_id=provider, api_flavor=flavor).usage
        except (LookupError, ValueError):
            continue
        names = {
            "input": "input_tokens",
            "output": "output_tokens",
            "cache_read": "cache_read_tokens",
        }
        names |= {"cache_write": "cache_write_tokens", "reasoning": "output_reasoning_tokens"}
        return {name: getattr(read, unit, None) or 0 for name, unit in names.items()}
    return None
