"""The judges themselves: each accepts and refuses, and none refuses what a provider took."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from . import judge, judges_for

CORPUS = Path(os.environ.get("CHATMEND_CORPUS", "/work/shared/corpus/requests_accepted.jsonl"))
SONNET = "anthropic/claude-sonnet-4-5"
BEDROCK = "bedrock/us.amazon.nova-pro-v1:0"


def call(*ids: str, **extra: Any) -> dict[str, Any]:
    """An assistant message with one call per id."""
    function = {"name": "f", "arguments": "{}"} | extra
    tool_calls = [{"id": i, "type": "function", "function": dict(function)} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls}


def result(tool_id: str) -> dict[str, Any]:
    """The tool message that answers a call."""
    return {"role": "tool", "tool_call_id": tool_id, "content": "r"}


USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "S"}
SAID = {"role": "assistant", "content": "ok"}
ID = "abcdefgh1"
GOOD = [USER, call(ID), result(ID)]
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
ANSWERED = [USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}]
TEXT = {"type": "text", "text": "x"}
VLLM = "hosted_vllm/"

ACCEPTED = [
    ("openai_chat", "other", [USER], "utf8"),
    ("openai_chat", "openai/gpt-4o", GOOD, "openai_types"),
    ("openai_chat", "xai/grok-4", [USER, call(ID)], "pairing"),
    ("openai_chat", "openai/gpt-4o", [SYSTEM, *GOOD, USER], "wire"),
    ("openai_chat", "mistral/open-mistral-7b", GOOD, "mistral_common"),
    ("openai_chat", "mistral/mistral-medium-latest", [USER, call("x"), result("x")], "mistral_common"),
    ("openai_chat", SONNET, [SYSTEM, *GOOD, USER], "anthropic"),
    ("anthropic_messages", SONNET, ANSWERED, "anthropic"),
    ("openai_chat", "gemini/gemini-2.5-flash", [SYSTEM, *GOOD], "gemini"),
    ("openai_chat", BEDROCK, [SYSTEM, *GOOD], "bedrock"),
    ("openai_chat", "strict", [SYSTEM, *GOOD, SAID, USER], "template"),
    ("openai_chat", VLLM + "google/gemma-2-9b-it", [USER, SAID, USER], "template"),
    ("openai_chat", VLLM + "mistralai/Mistral-7B-Instruct-v0.3", GOOD, "template"),
    ("openai_chat", VLLM + "Qwen/Qwen3.5-9B", [SYSTEM, USER], "template"),
    ("openai_chat", VLLM + "meta-llama/Llama-3.1-8B-Instruct", GOOD, "template"),
    ("openai_chat", VLLM + "openai/gpt-oss-20b", GOOD, "template"),
]
REFUSED = [
    ("openai_chat", "other", [{"role": "user", "content": "\ud83d"}], "utf8"),
    ("openai_chat", "other", [call("a", arguments='{"x": "\\ud83d"}')], "utf8"),
    ("openai_chat", "openai/gpt-4o", [{"role": "bot", "content": "x"}], "openai_types"),
    ("openai_chat", "openai/gpt-4o", [USER, {**call("a"), "tool_calls": [{"id": 1}]}], "openai_types"),
    ("openai_chat", "openai/gpt-4o", [USER, call("a"), USER, result("a")], "pairing"),
    ("openai_chat", "openai/gpt-4o", [USER, result("a")], "pairing"),
    ("openai_chat", "cohere/command-a", [USER, call("a")], "pairing"),
    ("openai_chat", "mistral/open-mistral-7b", [USER, call("x"), result("x")], "mistral_common"),
    ("openai_chat", "mistral/mistral-medium-latest", [USER, SAID], "mistral_common"),
    ("openai_chat", SONNET, [USER, call("a:b"), result("c")], "anthropic"),
    ("openai_chat", "anthropic/claude-sonnet-4-6", [USER, SAID], "anthropic"),
    ("anthropic_messages", SONNET, ANSWERED[:2] + [{"role": "user", "content": [TEXT, RESULT]}], "anthropic"),
    ("anthropic_messages", SONNET, [{"role": "user", "content": [{"type": "text", "text": " "}]}], "anthropic"),
    ("anthropic_messages", SONNET, [{"role": "user", "content": [{"type": "bogus"}]}], "anthropic"),
    ("anthropic_messages", SONNET, [USER, {"role": "assistant", "content": []}, USER], "anthropic"),
    ("anthropic_messages", SONNET, ANSWERED + ANSWERED[1:], "anthropic"),
    ("openai_chat", "gemini/gemini-2.5-flash", [USER, call("a", name="1 f"), result("a")], "gemini"),
    ("openai_chat", "gemini/gemini-2.5-flash", [USER, call("a"), result("a"), result("a")], "gemini"),
    ("openai_chat", BEDROCK, [USER, call("a", name="x" * 65), result("a")], "bedrock"),
    ("openai_chat", BEDROCK, [USER, call("a"), USER], "bedrock"),
    ("openai_chat", "strict", [*GOOD, USER], "template"),
    ("openai_chat", VLLM + "google/gemma-2-9b-it", [SYSTEM, USER], "template"),
    ("openai_chat", VLLM + "mistralai/Mistral-7B-Instruct-v0.3", [USER, call("a"), result("a")], "template"),
    ("openai_chat", VLLM + "Qwen/Qwen3.5-9B", [USER, SYSTEM], "template"),
    ("openai_chat", VLLM + "meta-llama/Llama-3.1-8B", [USER, call("a", "b"), result("a"), result("b")], "template"),
    ("openai_chat", VLLM + "openai/gpt-oss-20b", [USER, result("a")], "template"),
    ("openai_chat", "openai/gpt-4o", [USER, call("i" * 41), result("i" * 41)], "wire"),
    ("openai_chat", "azure/gpt-4o", [USER, {"role": "assistant", "content": None}], "wire"),
    ("openai_chat", "deepseek/deepseek-chat", [{"role": "developer", "content": "x"}, USER], "wire"),
    ("openai_chat", "dashscope/qwen-max", GOOD, "wire"),
    ("openai_chat", "zai/glm-4.6", [SYSTEM], "wire"),
    ("openai_chat", "minimax/MiniMax-M2", [SYSTEM, SYSTEM, USER], "wire"),
    ("openai_chat", "moonshot/kimi-k2", [USER, {"role": "assistant", "content": ""}, USER], "wire"),
    ("openai_chat", "cohere/command-a", [*GOOD, *GOOD[1:]], "wire"),
    ("openai_chat", "groq/llama-3.3-70b", [USER, {**SAID, "reasoning_content": "r"}], "wire"),
]


@pytest.mark.parametrize(("dialect", "target", "messages", "name"), ACCEPTED)
def test_accepts(dialect: str, target: str, messages: list[Any], name: str) -> None:
    """The named judge is asked, all agree, and none writes into the transcript."""
    before = copy.deepcopy(messages)
    assert name in judges_for(dialect, target)
    assert judge(dialect, target, messages) == []
    assert messages == before


@pytest.mark.parametrize(("dialect", "target", "messages", "name"), REFUSED)
def test_refuses(dialect: str, target: str, messages: list[Any], name: str) -> None:
    """The named judge refuses, whatever the others say."""
    assert [r for r in judge(dialect, target, messages) if r.startswith(f"{name}:")]


@pytest.mark.parametrize("junk", [[None], [1], [{}], [{"role": []}], [{"role": "assistant", "tool_calls": 3}]])
@pytest.mark.parametrize("target", [SONNET, BEDROCK, "openai/gpt-4o", "gemini/gemini-2.5-flash", "mistral/x", "strict"])
def test_never_raises(target: str, junk: list[Any]) -> None:
    """Fuzzed transcripts reach the judges too."""
    assert judge("openai_chat", target, junk)


def recorded() -> list[tuple[str, str, dict[str, Any]]]:
    """(dialect, target, body) of every recorded 200 in a dialect we judge."""
    dialects = {"openai_chat": "openai_chat", "anthropic": "anthropic_messages"}
    providers = {"gpustack": "hosted_vllm", "vllm": "hosted_vllm", "portkey": "openai"}
    known = "openai azure xai deepseek openrouter ollama groq anthropic bedrock hosted_vllm".split()
    out = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        provider = providers.get(row["provider"], row["provider"])
        target = f"{provider}/{row['model']}" if provider in known else "other"
        if row["format"] == "openai_chat" and row["api"] == "invoke":
            target = "other"  # Nova-native InvokeModel bodies, not OpenAI ones
        if row["format"] in dialects:
            out.append((dialects[row["format"]], target, {"id": row["id"], **row["body"]}))
    return out


@pytest.mark.skipif(not CORPUS.exists(), reason=f"no recorded requests at {CORPUS}")
def test_recorded_requests_are_accepted() -> None:
    """A judge that refuses what the provider took would make the repairer over-repair."""
    refused = {}
    for dialect, target, body in recorded():
        found = judge(dialect, target, body["messages"], body.get("system"), body.get("tools"))
        if found:
            refused[body["id"], target] = found
    assert refused == {}
