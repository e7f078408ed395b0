"""The targets for which the promises are tested: each provider, and each model family with separate limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatmend import Limits

OPENAI_CHAT = (
    "openai/gpt-4o",
    "openai/responses/gpt-5",
    "azure/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-sonnet-4-6",
    "anthropic/claude-opus-4-8",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-3-pro-preview",
    "vertex_ai/gemini-2.5-pro",
    "vertex_ai/claude-sonnet-4-5",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.amazon.nova-pro-v1:0",
    "mistral/open-mistral-7b",
    "mistral/mistral-medium-latest",
    "deepseek/deepseek-chat",
    "deepseek/deepseek-v3.2",
    "xai/grok-4",
    "groq/llama-3.3-70b-versatile",
    "cohere/command-a-03-2025",
    "moonshot/kimi-k2-0905-preview",
    "moonshot/kimi-k2-thinking",
    "dashscope/qwen-max",
    "zai/glm-4.6",
    "minimax/MiniMax-M2",
    "openrouter/anthropic/claude-sonnet-4.5",
    "openrouter/google/gemini-2.5-pro",
    "hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3",
    "hosted_vllm/google/gemma-2-9b-it",
    "hosted_vllm/Qwen/Qwen3.5-32B",
    "hosted_vllm/openai/gpt-oss-120b",
    "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct",
    "ollama/llama3.1",
    "strict",
    "other",
)
ANTHROPIC_MESSAGES = (
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-sonnet-4-6",
    "anthropic/claude-opus-4-8",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "vertex_ai/claude-sonnet-4-5",
    "minimax/MiniMax-M2",
)
OPENAI_RESPONSES = (
    "openai/gpt-4o",
    "openai/gpt-5",
    "azure/gpt-5-mini",
    "xai/grok-4",
    "deepseek/deepseek-chat",
    "openrouter/openai/gpt-5",
    "hosted_vllm/Qwen/Qwen3.5-32B",
    "llamacpp/openai/gpt-oss-20b",
    "ollama/llama3.1",
    "other",
)
GEMINI_CONTENTS = (
    "gemini/gemini-2.5-flash",
    "gemini/gemini-3-pro-preview",
    "gemini/gemma-3-27b-it",
    "vertex_ai/gemini-2.5-pro",
    "other",
)
BEDROCK_CONVERSE = (
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.amazon.nova-pro-v1:0",
    "bedrock/meta.llama3-3-70b-instruct-v1:0",
    "bedrock/qwen.qwen3-32b-v1:0",
    "other",
)
OLLAMA_CHAT = (
    "ollama/llama3.1",
    "ollama_chat/qwen3.5",
    "ollama/mistral",
    "other",
)
ALL = [
    *(("openai_chat", target) for target in OPENAI_CHAT),
    *(("anthropic_messages", target) for target in ANTHROPIC_MESSAGES),
    *(("openai_responses", target) for target in OPENAI_RESPONSES),
    *(("gemini_contents", target) for target in GEMINI_CONTENTS),
    *(("bedrock_converse", target) for target in BEDROCK_CONVERSE),
    *(("ollama_chat", target) for target in OLLAMA_CHAT),
]


def without_stores(limits: Limits) -> Limits:
    """Return limits without what belongs to hosts, such as the places of stored files."""
    theirs = ("file_stores", "refuses_reasoning_texts", "role_optional")
    return replace(limits, own=tuple(own for own in limits.own if own[0] not in theirs))
