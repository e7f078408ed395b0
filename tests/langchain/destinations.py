"""Partner classes that send to the sandbox, each with the models whose limits differ."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no request at import

_AWS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
_KEY = {"api_key": "k"}
_LLAMA = "meta-llama/Llama-3.3-70B-Instruct"


@dataclass(frozen=True)
class ToSandbox:
    """A partner class with a path of the sandbox, and the parameter that takes the base URL."""

    path: str
    address: str
    base: str
    params: dict[str, Any] = field(default_factory=dict)

    def model(self, sandbox: Any, **more: Any) -> Any:
        """Return a model; skip the test if its package is missing."""
        module, _, name = self.path.rpartition(".")
        pytest.importorskip(module)
        if module == "langchain_google_genai" and version("langchain-google-genai") < "4":
            pytest.skip(
                "langchain-google-genai before version 4 uses gRPC; the sandbox serves HTTP"
            )
        if module == "langchain_openrouter":
            more = {"openrouter_api_key": "k", **more}
        url = sandbox.url(self.base)
        cls = getattr(import_module(module), name)
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


def _bedrock(model: str, name: str = "ChatBedrockConverse") -> ToSandbox:
    return ToSandbox(f"langchain_aws.{name}", "endpoint_url", "bedrock", {"model": model, **_AWS})


def _gemini(model: str) -> ToSandbox:
    params = {"model": model, "google_api_key": "k", "max_retries": 1}
    return ToSandbox("langchain_google_genai.ChatGoogleGenerativeAI", "base_url", "gemini", params)


DESTINATIONS = {
    "openai": ToSandbox("langchain_openai.ChatOpenAI", "base_url", "openai/v1", {"model": "gpt-4o", **_KEY}),
    "responses": ToSandbox(
        "langchain_openai.ChatOpenAI", "base_url", "openai/v1", {"model": "gpt-5", "use_responses_api": True, **_KEY}
    ),
    "azure": ToSandbox(
        "langchain_openai.AzureChatOpenAI", "azure_endpoint", "azure",
        {"azure_deployment": "gpt-4o", "api_version": "2024-10-21", **_KEY},
    ),
    "anthropic": ToSandbox("langchain_anthropic.ChatAnthropic", "base_url", "anthropic", {"model": "claude-opus-4-8", **_KEY}),
    "mistral": ToSandbox(
        "langchain_mistralai.ChatMistralAI", "endpoint", "mistral/v1", {"model": "mistral-large-latest", **_KEY}
    ),
    "gemini": _gemini("gemini-2.5-flash"),
    "gemini 3": _gemini("gemini-3-pro-preview"),
    "bedrock claude": _bedrock("us.anthropic.claude-sonnet-4-6"),
    "bedrock nova": _bedrock("us.amazon.nova-pro-v1:0"),
    "bedrock mistral": _bedrock("mistral.mistral-large-2402-v1:0"),
    "bedrock llama": _bedrock("us.meta.llama3-3-70b-instruct-v1:0"),
    "bedrock invoke": _bedrock("us.anthropic.claude-sonnet-4-6", "ChatBedrock"),
    "groq": ToSandbox("langchain_groq.ChatGroq", "base_url", "groq", {"model": "llama-3.3-70b-versatile", **_KEY}),
    "ollama": ToSandbox("langchain_ollama.ChatOllama", "base_url", "ollama", {"model": "llama3.1"}),
    "deepseek": ToSandbox("langchain_deepseek.ChatDeepSeek", "api_base", "deepseek/v1", {"model": "deepseek-chat", **_KEY}),
    "xai": ToSandbox(
        "langchain_xai.ChatXAI", "xai_api_base", "xai/v1", {"model": "grok-4-1-fast-non-reasoning", **_KEY}
    ),
    "cohere": ToSandbox(
        "langchain_cohere.ChatCohere", "base_url", "cohere", {"model": "command-a-03-2025", "cohere_api_key": "k"}
    ),
    "fireworks": ToSandbox(
        "langchain_fireworks.ChatFireworks", "base_url", "fireworks_ai/inference",
        {"model": "accounts/fireworks/models/llama-v3p3-70b-instruct", **_KEY},
    ),
    "together": ToSandbox(
        "langchain_together.ChatTogether", "base_url", "fireworks_ai/inference/v1", {"model": "Qwen/Qwen3-32B", **_KEY}
    ),
    "openrouter": ToSandbox(
        "langchain_openrouter.ChatOpenRouter", "base_url", "openrouter/api/v1", {"model": "anthropic/claude-opus-4-8"}
    ),
    "litellm anthropic": ToSandbox(
        "langchain_litellm.ChatLiteLLM", "api_base", "anthropic", {"model": "anthropic/claude-opus-4-8", **_KEY}
    ),
    "litellm openai": ToSandbox(
        "langchain_litellm.ChatLiteLLM", "api_base", "openai/v1", {"model": "openai/gpt-4o", **_KEY}
    ),
    "nvidia": ToSandbox(
        "langchain_nvidia_ai_endpoints.ChatNVIDIA", "base_url", "fireworks_ai/inference/v1",
        {"model": "meta/llama-3.3-70b-instruct", **_KEY},
    ),
    "huggingface": ToSandbox("langchain_huggingface.ChatHuggingFace", "", "fireworks_ai/inference/v1"),
}  # fmt: skip
"""Classes without an endpoint of their own in the sandbox send to that of another strict host."""

HOME = {
    "openai-responses": "responses", "openai-responses v1": "responses", "anthropic": "anthropic",
    "anthropic v1": "anthropic", "bedrock-converse": "bedrock claude", "gemini": "gemini 3",
    "bedrock-converse v1": "bedrock claude", "gemini v1": "gemini 3", "openrouter": "openrouter",
}  # fmt: skip
"""The destination whose provider signed the thinking of an answer."""
