"""Every installed partner class, pointed at one of our servers.

``CLASSES`` send to the recorder, which answers in their wire format; ``DESTINATIONS`` send to the
sandbox, each with the models whose limits differ.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no request at import


@dataclass(frozen=True)
class Partner:
    """A partner class, the path of the server, and the parameter that takes the base URL."""

    path: str
    wire: str
    """The wire format of the recorder, or the path of the sandbox."""
    address: str
    params: dict[str, Any] = field(default_factory=dict)

    def model(self, server: Any, **more: Any) -> Any:
        """Return a model that sends to a server or URL; skip the test if its package is missing."""
        module, _, name = self.path.rpartition(".")
        pytest.importorskip(module)
        if module == "langchain_google_genai" and version("langchain-google-genai") < "4":
            pytest.skip("langchain-google-genai before version 4 uses gRPC, not HTTP")
        url = server if isinstance(server, str) else server.url(self.wire)
        cls = getattr(import_module(module), name)
        if name == "ChatVertexAI":
            more["credentials"] = import_module("google.auth.credentials").AnonymousCredentials()
        if name != "ChatHuggingFace":
            return cls(**{**self.params, self.address: url, **more})
        # The tests disable all requests to the hub; this one goes to the sandbox.
        import_module("huggingface_hub.constants").HF_HUB_OFFLINE = False
        endpoint = import_module(module).HuggingFaceEndpoint(
            endpoint_url=f"{url}/",
            huggingfacehub_api_token="k",  # noqa: S106 - the sandbox accepts any key
            task="conversational",
        )
        return cls(llm=endpoint, model_id=_LLAMA, **more)


_KEY = {"api_key": "k"}
_LLAMA = "meta-llama/Llama-3.3-70B-Instruct"
_OPENAI = {"api_key": "k", "max_retries": 0}
_AWS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
_HAIKU = {"model": "us.anthropic.claude-haiku-4-5-20251001-v1:0", **_AWS}
_CHAT = {"stream_usage": True, **_OPENAI}
CLASSES = {
    "openai": Partner("langchain_openai.ChatOpenAI", "chat", "base_url", {"model": "gpt-5", **_CHAT}),
    "openai-responses": Partner(
        "langchain_openai.ChatOpenAI", "responses", "base_url", {"model": "gpt-5", "use_responses_api": True, **_OPENAI}
    ),
    "azure": Partner(
        "langchain_openai.AzureChatOpenAI", "chat", "azure_endpoint",
        {"azure_deployment": "gpt-5", "api_version": "2024-10-21", **_CHAT},
    ),
    "anthropic": Partner(
        "langchain_anthropic.ChatAnthropic", "messages", "base_url", {"model": "claude-haiku-4-5", **_OPENAI}
    ),
    "mistral": Partner(
        "langchain_mistralai.ChatMistralAI", "mistral", "endpoint",
        {"model": "mistral-large-latest", "api_key": "k", "max_retries": 1},
    ),
    "groq": Partner("langchain_groq.ChatGroq", "groq", "base_url", {"model": "openai/gpt-oss-120b", **_OPENAI}),
    "deepseek": Partner(
        "langchain_deepseek.ChatDeepSeek", "chat", "api_base", {"model": "deepseek-v4-flash", **_OPENAI}
    ),
    "xai": Partner("langchain_xai.ChatXAI", "chat", "xai_api_base", {"model": "grok-4", **_OPENAI}),
    "xai-responses": Partner(
        "langchain_xai.ChatXAI", "responses", "xai_api_base", {"model": "grok-4", "use_responses_api": True, **_OPENAI}
    ),
    "bedrock-converse": Partner("langchain_aws.ChatBedrockConverse", "converse", "endpoint_url", _HAIKU),
    "bedrock-invoke": Partner("langchain_aws.ChatBedrock", "invoke", "endpoint_url", _HAIKU),
    "ollama": Partner("langchain_ollama.ChatOllama", "ollama", "base_url", {"model": "llama3.1"}),
    "litellm": Partner("langchain_litellm.ChatLiteLLM", "chat", "api_base", {"model": "openai/gpt-5", **_OPENAI}),
    "litellm-anthropic": Partner(
        "langchain_litellm.ChatLiteLLM", "messages", "api_base", {"model": "anthropic/claude-haiku-4-5", **_OPENAI}
    ),
    "gemini": Partner(
        "langchain_google_genai.ChatGoogleGenerativeAI", "gemini", "base_url",
        {"model": "gemini-2.5-flash", "google_api_key": "k", "max_retries": 1},
    ),
    "fireworks": Partner(
        "langchain_fireworks.ChatFireworks", "chat", "base_url", {"model": "accounts/fireworks/models/kimi-k2p5", "api_key": "k"}
    ),
    "together": Partner("langchain_together.ChatTogether", "chat", "base_url", {"model": "Qwen/Qwen3-32B", **_OPENAI}),
    "openrouter": Partner(
        "langchain_openrouter.ChatOpenRouter", "chat", "base_url", {"model": "anthropic/claude-opus-4-8", **_OPENAI}
    ),
    "nvidia": Partner(
        "langchain_nvidia_ai_endpoints.ChatNVIDIA", "chat", "base_url", {"model": "meta/llama-3.3-70b-instruct", "api_key": "k"}
    ),
}  # fmt: skip


def _bedrock(model: str, name: str = "ChatBedrockConverse") -> Partner:
    return Partner(f"langchain_aws.{name}", "bedrock", "endpoint_url", {"model": model, **_AWS})


def _gemini(model: str) -> Partner:
    params = {"model": model, "google_api_key": "k", "max_retries": 1}
    return Partner("langchain_google_genai.ChatGoogleGenerativeAI", "gemini", "base_url", params)


def _vertex(model: str) -> Partner:
    params = {"model": model, "api_transport": "rest", **_GOOGLE_CLOUD}
    return Partner("langchain_google_vertexai.ChatVertexAI", "vertex", "api_endpoint", params)


_GOOGLE_CLOUD = {"project": "p", "location": "us-central1", "max_retries": 1}
_THINKING = {"type": "enabled", "budget_tokens": 2000}
DESTINATIONS = {
    "openai": Partner("langchain_openai.ChatOpenAI", "openai/v1", "base_url", {"model": "gpt-4o", **_KEY}),
    "responses": Partner("langchain_openai.ChatOpenAI", "openai/v1", "base_url", {"model": "gpt-5", "use_responses_api": True, **_KEY}
    ),
    "azure": Partner("langchain_openai.AzureChatOpenAI", "azure", "azure_endpoint",
        {"azure_deployment": "gpt-4o", "api_version": "2024-10-21", **_KEY},
    ),
    "anthropic": Partner("langchain_anthropic.ChatAnthropic", "anthropic", "base_url", {"model": "claude-opus-4-8", **_KEY}),
    "anthropic 4.5": Partner("langchain_anthropic.ChatAnthropic", "anthropic", "base_url", {"model": "claude-haiku-4-5", **_KEY}),
    "anthropic thinking": Partner("langchain_anthropic.ChatAnthropic", "anthropic", "base_url",
        {"model": "claude-haiku-4-5", "thinking": _THINKING, "max_tokens": 4000, **_KEY},
    ),
    "mistral": Partner("langchain_mistralai.ChatMistralAI", "mistral/v1", "endpoint", {"model": "mistral-large-latest", **_KEY}
    ),
    "gemini": _gemini("gemini-2.5-flash"),
    "gemini 3": _gemini("gemini-3-pro-preview"),
    "vertex": _vertex("gemini-2.5-flash"),
    "vertex 3": _vertex("gemini-3-pro-preview"),
    "vertex claude": Partner(
        "langchain_google_vertexai.model_garden.ChatAnthropicVertex", "vertex/v1", "api_endpoint",
        {"model": "claude-opus-4-8", "access_token": "t", **_GOOGLE_CLOUD},
    ),
    "bedrock claude": _bedrock("us.anthropic.claude-sonnet-4-6"),
    "bedrock thinking": Partner("langchain_aws.ChatBedrockConverse", "bedrock", "endpoint_url", {
        "model": "us.anthropic.claude-sonnet-4-6", "max_tokens": 4000,
        "additional_model_request_fields": {"thinking": _THINKING}, **_AWS,
    }),
    "bedrock nova": _bedrock("us.amazon.nova-pro-v1:0"),
    "bedrock mistral": _bedrock("mistral.mistral-large-2402-v1:0"),
    "bedrock llama": _bedrock("us.meta.llama3-3-70b-instruct-v1:0"),
    "bedrock invoke": _bedrock("us.anthropic.claude-sonnet-4-6", "ChatBedrock"),
    "groq": Partner("langchain_groq.ChatGroq", "groq", "base_url", {"model": "llama-3.3-70b-versatile", **_KEY}),
    "ollama": Partner("langchain_ollama.ChatOllama", "ollama", "base_url", {"model": "llama3.1"}),
    "deepseek": Partner("langchain_deepseek.ChatDeepSeek", "deepseek/v1", "api_base", {"model": "deepseek-chat", **_KEY}),
    "deepseek flash": Partner("langchain_deepseek.ChatDeepSeek", "deepseek/v1", "api_base", {"model": "deepseek-v4-flash", **_KEY}),
    "xai": Partner("langchain_xai.ChatXAI", "xai/v1", "xai_api_base", {"model": "grok-4-1-fast-non-reasoning", **_KEY}
    ),
    "cohere": Partner("langchain_cohere.ChatCohere", "cohere", "base_url", {"model": "command-a-03-2025", "cohere_api_key": "k"}
    ),
    "fireworks": Partner("langchain_fireworks.ChatFireworks", "fireworks_ai/inference", "base_url",
        {"model": "accounts/fireworks/models/llama-v3p3-70b-instruct", **_KEY},
    ),
    "together": Partner("langchain_together.ChatTogether", "fireworks_ai/inference/v1", "base_url", {"model": "Qwen/Qwen3-32B", **_KEY}
    ),
    "openrouter": Partner("langchain_openrouter.ChatOpenRouter", "openrouter/api/v1", "base_url", {"model": "anthropic/claude-opus-4-8", **_KEY}
    ),
    "litellm anthropic": Partner("langchain_litellm.ChatLiteLLM", "anthropic", "api_base", {"model": "anthropic/claude-opus-4-8", **_KEY}
    ),
    "litellm openai": Partner("langchain_litellm.ChatLiteLLM", "openai/v1", "api_base", {"model": "openai/gpt-4o", **_KEY}
    ),
    "nvidia": Partner("langchain_nvidia_ai_endpoints.ChatNVIDIA", "fireworks_ai/inference/v1", "base_url",
        {"model": "meta/llama-3.3-70b-instruct", **_KEY},
    ),
    "huggingface": Partner("langchain_huggingface.ChatHuggingFace", "fireworks_ai/inference/v1", ""),
}  # fmt: skip
"""Classes without an endpoint of their own in the sandbox send to that of another strict host."""

HOME = {
    "openai-responses": "responses", "openai-responses v1": "responses", "anthropic": "anthropic",
    "anthropic v1": "anthropic", "bedrock-converse": "bedrock claude", "gemini": "gemini 3",
    "bedrock-converse v1": "bedrock claude", "gemini v1": "gemini 3", "openrouter": "openrouter",
}  # fmt: skip
"""The destination whose provider signed the thinking of an answer."""
