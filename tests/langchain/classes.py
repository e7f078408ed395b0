"""Every installed partner class, pointed at a server that answers with recorded bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest


@dataclass(frozen=True)
class Partner:
    """A partner class, its wire format, and the parameter that takes its base URL."""

    path: str
    wire: str
    address: str
    params: dict[str, Any] = field(default_factory=dict)

    def model(self, base: str, **more: Any) -> Any:
        """Return a model that sends to ``base``; skip the test if its package is missing."""
        module, _, name = self.path.rpartition(".")
        pytest.importorskip(module)
        if module == "langchain_google_genai" and version("langchain-google-genai") < "4":
            pytest.skip("langchain-google-genai before version 4 uses gRPC, not HTTP")
        return getattr(import_module(module), name)(**{**self.params, self.address: base, **more})


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
