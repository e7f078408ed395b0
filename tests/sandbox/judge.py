"""Send broken transcripts, raw and repaired, through LiteLLM to the sandbox.

    python -m tests.sandbox.judge [COUNT] [TARGET]

The program prints one line for each target, with the verdicts on the raw transcripts and on those
repaired by the LiteLLM callback, whose limits include LiteLLM's conversion. Transcripts that
LiteLLM cannot send (it raises), or sends with other content, are counted separately, with the
reason.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from importlib.metadata import version
from typing import Any, NamedTuple

import litellm

from chatmend.litellm.attempt import repair_attempt
from chatmend.litellm.shapes import CHAT
from chatmend.sandbox import Sandbox
from tests.broken import broken, copied
from tests.judges.litellm_requests import _offline, _told_apart

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
    "bedrock/us.amazon.nova-pro-v1:0": (
        "bedrock/converse/us.amazon.nova-pro-v1:0",
        "bedrock",
        _BEDROCK,
    ),
    "deepseek/deepseek-chat": ("deepseek/deepseek-chat", "deepseek", {}),
    "deepseek/deepseek-v3.2": ("deepseek/deepseek-v3.2", "deepseek", {}),
    "xai/grok-4": ("xai/grok-4", "xai/v1", {}),
    "groq/llama-3.3-70b-versatile": ("groq/llama-3.3-70b-versatile", "groq/openai/v1", {}),
    "cohere/command-a-03-2025": ("cohere_chat/command-a-03-2025", "cohere/v2/chat", {}),
    "moonshot/kimi-k2-0905-preview": ("moonshot/kimi-k2-0905-preview", "moonshot/v1", {}),
    "moonshot/kimi-k2-thinking": ("moonshot/kimi-k2-thinking", "moonshot/v1", {}),
    "zai/glm-4.6": ("zai/glm-4.6", "zai/api/paas/v4", {}),
    "minimax/MiniMax-M2": ("minimax/MiniMax-M2", "minimax/v1", {}),
    "openrouter/anthropic/claude-sonnet-4.5": (
        "openrouter/anthropic/claude-sonnet-4.5",
        "openrouter/api/v1",
        {},
    ),
    "ollama/llama3.1": ("ollama_chat/llama3.1", "ollama", {}),
    "strict": ("hosted_vllm/strict", "strict/v1", {}),
    "mistral/mistral-large-latest": ("mistral/mistral-large-latest", "mistral/v1", {}),
    "bedrock/meta.llama3-3-70b-instruct-v1:0": (
        "bedrock/converse/meta.llama3-3-70b-instruct-v1:0",
        "bedrock",
        _BEDROCK,
    ),
    "bedrock/mistral.mistral-large-2407-v1:0": (
        "bedrock/converse/mistral.mistral-large-2407-v1:0",
        "bedrock",
        _BEDROCK,
    ),
    "cerebras/gpt-oss-120b": ("cerebras/gpt-oss-120b", "cerebras/v1", {}),
    "fireworks_ai/glm-5p3": (
        "fireworks_ai/accounts/fireworks/models/glm-5p3",
        "fireworks_ai/inference/v1",
        {},
    ),
    "databricks/databricks-claude-opus-4-1": (
        "databricks/databricks-claude-opus-4-1",
        "databricks/serving-endpoints",
        {},
    ),
}
"""Target of the repair -> LiteLLM's model, path in the sandbox, credentials."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}\Z")


def _tools(messages: Json) -> list[Json]:
    """Return a definition for every called tool whose name is valid in a definition."""
    names = {"search"}
    for message in messages:
        for call in (message.get("tool_calls") if isinstance(message, dict) else None) or []:
            function = call.get("function") if isinstance(call, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and _NAME.match(name):
                names.add(name)
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name in sorted(names)
    ]


class Verdict(NamedTuple):
    """The verdict on one transcript, and its reason."""

    kind: str
    """One of ``KINDS``.

    ``accepted`` or ``refused`` by the sandbox; ``unsent``: LiteLLM raised before it sent anything;
    ``altered``: refused because LiteLLM sent other content than its input.
    """
    why: str = ""


def verdict(sandbox: Sandbox, target: str, messages: Json, tools: Json) -> Verdict:
    """Send one transcript through LiteLLM and return the verdict."""
    found = _sent(sandbox, target, messages, tools)
    if found.kind != "refused":
        return found
    kept = _without_dropped_content(messages)
    altered = kept != _offline(messages) and _sent(sandbox, target, kept, tools).kind == "accepted"
    return Verdict("altered", found.why) if altered else found


def _without_dropped_content(messages: Json) -> Json:
    """Return the transcript without content that LiteLLM is known to drop.

    For Gemini, LiteLLM sends only one of several equal calls, but all of their results; for
    Mistral it drops empty results.
    """
    apart = _told_apart(_offline(messages))
    return [
        {**message, "content": "."}
        if isinstance(message, dict) and _is_empty_result(message)
        else message
        for message in apart
    ]


def _is_empty_result(message: dict[str, Json]) -> bool:
    return message.get("role") == "tool" and message.get("content") == ""


def _sent(sandbox: Sandbox, target: str, messages: Json, tools: Json) -> Verdict:
    model, path, more = ROUTES[target]
    base = "aws_bedrock_runtime_endpoint" if "bedrock" in target else "api_base"
    more = {base: sandbox.url(path), "api_key": "k", **more}
    sandbox.clear()
    try:
        litellm.completion(
            model, _offline(messages), tools=tools, num_retries=0, max_retries=0, **more
        )
    except Exception as error:  # noqa: BLE001 - broken transcripts cause exceptions of many types
        if refusals := sandbox.refusals:
            return Verdict("refused", f"{refusals[0].rule}: {refusals[0].text}")
        return Verdict(
            "unsent",
            _SPECIFIC.sub("...", f"{type(error).__name__}: {' '.join(str(error).split())}")[:200],
        )
    return Verdict("accepted")


_SPECIFIC = re.compile(r"file-\w+|tok\w+|\[\d+\]|(?<=index )\d+")
"""Parts of exception texts that differ for the same error: ids, tokens and indices."""
KINDS = ("accepted", "refused", "unsent", "altered")


def main() -> int:
    """Print the table; return 1 if a repaired transcript was refused."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    print(
        f"{count} broken transcripts for each target, raw and repaired, "
        f"through LiteLLM {version('litellm')}"
    )
    print(
        "unsent: LiteLLM raised and sent nothing; "
        "altered: refused because of LiteLLM's conversion, accepted otherwise"
    )
    print(f"{'':50}{'raw':>10}{'repaired':>40}")
    print(f"{'':50}{''.join(f'{kind:>10}' for kind in (*KINDS[:3], *KINDS))}")
    sums: Counter[str] = Counter()
    with Sandbox() as sandbox:
        for target in (name for name in ROUTES if part in name):
            sums += _line(sandbox, target, count)
    print(f"{'all':50}{'':30}{''.join(f'{sums[kind]:>10}' for kind in KINDS)}")
    return 1 if sums["refused"] else 0


def _line(sandbox: Sandbox, target: str, count: int) -> Counter[str]:
    raw: Counter[str] = Counter()
    verdicts: Counter[Verdict] = Counter()
    for seed in range(count):
        messages = broken(seed, "openai_chat")
        tools = _tools(messages)
        raw[verdict(sandbox, target, messages, tools).kind] += 1
        call = {"messages": copied(messages), "tools": tools}
        repaired = repair_attempt(call, CHAT, target).request or call
        verdicts[verdict(sandbox, target, repaired["messages"], repaired["tools"])] += 1
    kinds = Counter(
        {kind: sum(n for found, n in verdicts.items() if found.kind == kind) for kind in KINDS}
    )
    raw["refused"] += raw.pop("altered", 0)
    print(
        f"{target:50}{''.join(f'{raw[k]:>10}' for k in KINDS[:3])}{''.join(f'{kinds[k]:>10}' for k in KINDS)}",
        flush=True,
    )
    for found, number in sorted(verdicts.items()):
        if found.kind != "accepted":
            print(f"    {number:3} {found.kind} {found.why[:160]}")
    return kinds


if __name__ == "__main__":
    sys.exit(main())
