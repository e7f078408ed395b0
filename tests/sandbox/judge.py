"""``python -m tests.sandbox.judge [COUNT]``: broken transcripts, raw and repaired, through LiteLLM to the sandbox.

For each target a line: how many of the raw transcripts are refused, and how many of the repaired ones. What LiteLLM
itself cannot send (its own exceptions) is counted apart.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Any

import litellm

import chatmend
from chatmend.sandbox import Sandbox
from tests.broken import broken
from tests.judges.litellm_requests import _offline

Json = Any
_BEDROCK = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
ROUTES: dict[str, tuple[str, str, dict[str, str]]] = {
    "openai/gpt-4o": ("openai/gpt-4o", "openai/v1", {}),
    "azure/gpt-4o": ("azure/gpt-4o", "azure", {"api_version": "2024-10-21"}),
    "anthropic/claude-sonnet-4-5": ("anthropic/claude-sonnet-4-5", "anthropic", {}),
    "anthropic/claude-sonnet-4-6": ("anthropic/claude-sonnet-4-6", "anthropic", {}),
    "gemini/gemini-2.5-flash": ("gemini/gemini-2.5-flash", "gemini/v1beta", {}),
    "gemini/gemini-3-pro-preview": ("gemini/gemini-3-pro-preview", "gemini/v1beta", {}),
    "mistral/mistral-medium-latest": ("mistral/mistral-medium-latest", "mistral/v1", {}),
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0": (
        "bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock",
        _BEDROCK,
    ),
    "bedrock/us.amazon.nova-pro-v1:0": ("bedrock/converse/us.amazon.nova-pro-v1:0", "bedrock", _BEDROCK),
    "deepseek/deepseek-chat": ("deepseek/deepseek-chat", "deepseek", {}),
    "deepseek/deepseek-v3.2": ("deepseek/deepseek-v3.2", "deepseek", {}),
    "xai/grok-4": ("xai/grok-4", "xai/v1", {}),
    "groq/llama-3.3-70b-versatile": ("groq/llama-3.3-70b-versatile", "groq/openai/v1", {}),
    "cohere/command-a-03-2025": ("cohere_chat/command-a-03-2025", "cohere/v2/chat", {}),
    "moonshot/kimi-k2-0905-preview": ("moonshot/kimi-k2-0905-preview", "moonshot/v1", {}),
    "moonshot/kimi-k2-thinking": ("moonshot/kimi-k2-thinking", "moonshot/v1", {}),
    "zai/glm-4.6": ("zai/glm-4.6", "zai/api/paas/v4", {}),
    "minimax/MiniMax-M2": ("minimax/MiniMax-M2", "minimax/v1", {}),
    "openrouter/anthropic/claude-sonnet-4.5": ("openrouter/anthropic/claude-sonnet-4.5", "openrouter/api/v1", {}),
    "ollama/llama3.1": ("ollama_chat/llama3.1", "ollama", {}),
    "strict": ("hosted_vllm/strict", "strict/v1", {}),
}
"""Target of the repair -> model of LiteLLM, path of the sandbox, credentials."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}\Z")


def _tools(messages: Json) -> list[Json]:
    """A definition for every tool whose name a definition may have."""
    names = {"search"}
    for message in messages:
        for call in (message.get("tool_calls") if isinstance(message, dict) else None) or []:
            function = call.get("function") if isinstance(call, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and _NAME.match(name):
                names.add(name)
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in sorted(names)]


def verdict(sandbox: Sandbox, target: str, messages: Json) -> str:
    """``accepted``, ``unsent`` (LiteLLM could not send it), or the broken rule."""
    model, path, more = ROUTES[target]
    base = (
        {"aws_bedrock_runtime_endpoint": sandbox.url(path)} if "bedrock" in target else {"api_base": sandbox.url(path)}
    )
    sandbox.clear()
    try:
        litellm.completion(
            model=model,
            messages=_offline(messages),
            tools=_tools(messages),
            api_key="k",
            num_retries=0,
            max_retries=0,
            **base,
            **more,
        )
    except Exception as error:  # noqa: BLE001 - LiteLLM raises whatever a broken transcript makes it raise
        said = sandbox.refusals
        return f"{said[0].rule}: {said[0].text[:160]}" if said else f"unsent {type(error).__name__}"
    return "accepted"


def main() -> int:
    """The table; exit status 1 if a repaired transcript was refused."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    litellm.suppress_debug_info = True
    refused = 0
    with Sandbox() as sandbox:
        for target in (name for name in ROUTES if part in name):
            raw: Counter[str] = Counter()
            mended: Counter[str] = Counter()
            for seed in range(count):
                messages = broken(seed, "openai_chat")
                raw[verdict(sandbox, target, messages).split(":")[0]] += 1
                repaired = chatmend.repair(json.loads(json.dumps(messages)), target, tools=_tools(messages)).messages
                mended[verdict(sandbox, target, repaired)] += 1
            bad = {rule: number for rule, number in mended.items() if rule != "accepted"}
            unsent = sum(number for rule, number in mended.items() if rule.startswith("unsent"))
            refused += sum(bad.values()) - unsent
            print(
                f"{target:52} raw not accepted {count - raw['accepted']:4} of {count}   repaired refused "
                f"{sum(bad.values()) - unsent:4}   unsent {unsent}",
                flush=True,
            )
            for rule, number in bad.items():
                print(f"    {number:3} {rule}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
