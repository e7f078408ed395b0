"""The important faults of each provider: a request that is refused and a repaired one.

A body holds the keyword arguments of the provider's SDK. It contains ``model`` only if the fault
needs another model than that of ``MODELS``.
"""

from tests.sandbox.proof_pairs import (
    anthropic,
    bedrock,
    chat,
    gemini,
    litellm,
    ollama,
    responses,
)
from tests.sandbox.proof_pairs.pictures import Body, Pair

PAIRS: dict[str, dict[str, Pair]] = {
    **chat.PAIRS,
    "openai-responses": responses.PAIRS,
    "anthropic": anthropic.PAIRS,
    "gemini": gemini.PAIRS,
    "bedrock": bedrock.PAIRS,
    "ollama_chat": ollama.PAIRS,
}
"""Provider -> fault -> (refused, accepted), through the official SDKs."""

THROUGH_LITELLM: dict[str, dict[str, Pair]] = litellm.PAIRS
"""Pairs that are sent through LiteLLM; the bodies have the Chat Completions format."""

MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5",
    "azure": "gpt-4o",
    "mistral": "mistral-large-2411",
    "deepseek": "deepseek-chat",
    "xai": "grok-4-1-fast-non-reasoning",
    "groq": "llama-3.3-70b-versatile",
    "moonshot": "kimi-k2-0905-preview",
    "zai": "glm-4.6",
    "minimax": "MiniMax-M2",
    "openrouter": "deepseek/deepseek-chat",
    "perplexity": "sonar",
    "ollama": "llama3.1",
    "ollama_chat": "llama3.1",
    "strict": "strict",
    "cerebras": "gpt-oss-120b",
    "fireworks_ai": "accounts/fireworks/models/glm-5p3",
    "databricks": "databricks-claude-opus-4-1",
    "cohere": "command-a-03-2025",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}

__all__ = ["MODELS", "PAIRS", "THROUGH_LITELLM", "Body", "Pair"]
