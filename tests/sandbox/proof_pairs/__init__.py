"""The important faults of each provider: the request that is refused, and the one that is accepted instead.

A body is what the provider's SDK takes as keyword arguments; ``model`` stands in it where the fault is not one of the
provider's usual model here.
"""

from tests.sandbox.proof_pairs import anthropic, bedrock, chat, gemini, litellm, responses
from tests.sandbox.proof_pairs.pictures import Body, Pair

PAIRS: dict[str, dict[str, Pair]] = {
    **chat.PAIRS,
    "openai-responses": responses.PAIRS,
    "anthropic": anthropic.PAIRS,
    "gemini": gemini.PAIRS,
    "bedrock": bedrock.PAIRS,
}
"""Provider -> fault -> (refused, accepted), through the official SDKs."""

THROUGH_LITELLM: dict[str, dict[str, Pair]] = litellm.PAIRS
"""The same through LiteLLM: bodies of Chat Completions, whoever the provider is."""

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
    "strict": "strict",
    "cohere": "command-a-03-2025",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}

__all__ = ["MODELS", "PAIRS", "THROUGH_LITELLM", "Body", "Pair"]
