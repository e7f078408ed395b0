"""Messages API bodies: SDK types, MCP pairing, and the wire facts no type expresses.

Rule ids are those of provider_rules.jsonl; each was seen live or documented.
"""

from __future__ import annotations

import re
from typing import Any

from .base import Request, blocks, runs
from .lite import to_anthropic
from .pairing import mcp_refusals
from .sdk_types import anthropic_types

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(?:(\d+)(?:[-.](\d{1,2}))?(?!\d)|preview)")
_LENIENT = re.compile("claude-3-opus-20240229")  # recorded 200 with mismatched ids: r00012
_ROLES = {"assistant": "assistant", "system": "system"}


def _version(model: str) -> tuple[int, int]:
    """(4, 6) of claude-sonnet-4-6; claude-3 names have the version first and count as old."""
    found = _VERSION.search(model)
    if not found:
        return (3, 0)
    return (int(found[1]), int(found[2] or 0)) if found[1] else (5, 0)


def _system_role(messages: list[dict[str, Any]], model: str) -> list[str]:
    """A system message in the list: new models only, after a user turn, before an assistant."""
    turns = [m.get("role") for m in messages]
    out = []
    for i, role in enumerate(turns):
        if role != "system":
            continue
        if _version(model) < (4, 8):
            out.append(f"anthropic-role-system-unsupported-model: messages.{i}")
        elif i == 0:
            out.append("anthropic-role-system-first")
        elif turns[i - 1] == "assistant" or turns[i + 1 : i + 2] == ["user"]:
            out.append(f"anthropic-role-system-placement: messages.{i}")
    return out


def _text(messages: list[dict[str, Any]], system: Any) -> list[str]:
    out = []
    if system is not None and any(not str(b.get("text", "")).strip() for b in blocks(system)):
        out.append("anthropic-system-whitespace")
    for i, message in enumerate(messages):
        found, role = blocks(message.get("content")), message.get("role")
        last = i == len(messages) - 1 and role == "assistant"
        if not found or message.get("content") == "":
            out += [] if last else [f"anthropic-message-content-empty: messages.{i}"]
            continue
        for b in found:
            text = b.get("text") if b.get("type") == "text" else None
            if text == "":
                out.append(f"anthropic-text-empty: messages.{i}")
            elif isinstance(text, str) and not text.strip() and (role != "assistant" or len(found) == 1):
                out.append(f"anthropic-text-whitespace: messages.{i}")
            if b.get("type") == "tool_result":
                if b.get("content") == []:
                    out.append(f"anthropic-tool-result-content-empty-list: messages.{i}")
                inner = b.get("content")
                if isinstance(inner, list) and any(x.get("text") == "" for x in blocks(inner)):
                    out.append(f"anthropic-tool-result-empty-text: messages.{i}")
    return out


def _tools(messages: list[dict[str, Any]], tools: Any) -> list[str]:
    out = []
    seen: set[Any] = set()
    answered: set[Any] = set()
    every = [b for m in messages for b in blocks(m.get("content"))]
    for b in every:
        if b.get("type") == "tool_use":
            if not _ID.match(str(b.get("id"))):
                out.append(f"anthropic-tool-use-id-pattern: {b.get('id')!r}")
            if b.get("id") in seen:
                out.append(f"anthropic-tool-use-duplicate-id: {b.get('id')!r}")
            seen.add(b.get("id"))
            if not isinstance(b.get("input"), dict):
                out.append("anthropic-tool-use-input-object")
        elif b.get("type") == "tool_result":
            if not _ID.match(str(b.get("tool_use_id"))):
                out.append(f"anthropic-tool-result-id-pattern: {b.get('tool_use_id')!r}")
            if b.get("tool_use_id") in answered:
                out.append(f"anthropic-tool-result-duplicate: {b.get('tool_use_id')!r}")
            answered.add(b.get("tool_use_id"))
    if tools is not None and not tools and (seen or answered):
        out.append("anthropic-tools-required-with-tool-blocks")
    return out


def _cache_controls(value: Any) -> int:
    """Only where blocks live: a tool input may hold a key of the same name."""
    if isinstance(value, list):
        return sum(map(_cache_controls, value))
    if not isinstance(value, dict):
        return 0
    inner = value.get("content") if value.get("type") in (None, "tool_result") else None
    return bool(value.get("cache_control")) + _cache_controls(inner)


def _turns(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Merged turns; a system item is a turn of its own, so it breaks a tool pair."""
    merged = runs(messages, _ROLES)
    return [
        ("user" if role == "system" else role, [b for m in group for b in blocks(m.get("content"))])
        for role, group in merged
    ]


def refusals(messages: list[dict[str, Any]], model: str, system: Any, tools: Any) -> list[str]:
    """All checks on one Messages API body."""
    if not messages:
        return ["anthropic-messages-empty"]
    if not all(isinstance(m, dict) for m in messages):
        return ["a message is not an object"]
    out = anthropic_types(messages)
    if not _LENIENT.search(model):
        out += mcp_refusals(_turns(messages))
    out += _system_role(messages, model) + _text(messages, system) + _tools(messages, tools)
    if _cache_controls([system, messages, tools]) > 4:
        out.append("anthropic-cache-control-max4")
    if messages[-1].get("role") == "assistant" and _version(model) >= (4, 6):
        out.append("anthropic-prefill-unsupported")
    return out


def check(req: Request) -> list[str]:
    """OpenAI-dialect transcripts are judged as LiteLLM would send them."""
    if req.dialect == "anthropic_messages":
        return refusals(req.messages, req.model, req.system, req.tools)
    try:
        body = to_anthropic(req.model, req.chat, req.tools)
    except Exception as error:  # noqa: BLE001 - LiteLLM refuses with whatever it trips over
        return [f"litellm: {type(error).__name__} {str(error)[:200]}"]
    return refusals(body["messages"], req.model, body.get("system"), None)
