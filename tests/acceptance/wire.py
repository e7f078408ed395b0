"""Recorded refusals of OpenAI-compatible servers that no SDK type expresses.

Each row names its rule in provider_rules.jsonl, so a doubted refusal can be traced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .base import Request, blocks, calls, function, text_of

Chat = list[dict[str, Any]]
Rule = tuple[str, Callable[[Chat], bool]]


def _ids(chat: Chat) -> list[str]:
    return [str(c.get("id")) for m in chat for c in calls(m)] + [
        str(m.get("tool_call_id")) for m in chat if m.get("role") == "tool"
    ]


def _names(chat: Chat, pattern: str) -> bool:
    """True when some called name does not match."""
    return any(not re.fullmatch(pattern, str(function(c).get("name"))) for m in chat for c in calls(m))


def _args_object(chat: Chat) -> bool:
    for message in chat:
        for call in calls(message):
            try:
                if not isinstance(json.loads(str(function(call).get("arguments"))), dict):
                    return True
            except ValueError:
                return True
    return False


def _unknown_id(chat: Chat) -> bool:
    known: set[Any] = set()
    for message in chat:
        if message.get("role") == "tool" and message.get("tool_call_id") not in known:
            return True
        known.update(c.get("id") for c in calls(message))
    return False


def _misplaced(chat: Chat) -> bool:
    """A result must follow its own call with nothing but sibling results between."""
    open_ids: list[Any] = []
    for message in chat:
        if message.get("role") != "tool":
            if open_ids:
                return True
            open_ids = [c.get("id") for c in calls(message)]
        elif message.get("tool_call_id") in open_ids:
            open_ids.remove(message.get("tool_call_id"))
        else:
            return True
    return False


def _null_content(chat: Chat) -> bool:
    free = ("tool_calls", "function_call", "refusal", "audio")
    return any(
        m.get("content") is None and not (m.get("role") == "assistant" and any(m.get(k) for k in free)) for m in chat
    )


def _empty_assistant(chat: Chat) -> bool:
    return any(
        m.get("role") == "assistant" and not calls(m) and not text_of(m.get("content")) and not m.get("reasoning_content")
        for m in chat
    )


def _empty_turn(chat: Chat) -> bool:
    return any(
        m.get("role") != "tool"
        and not calls(m)
        and not text_of(m.get("content")).strip()
        and all(b.get("type") == "text" for b in blocks(m.get("content")))
        for m in chat
    )


def _no_user(chat: Chat) -> bool:
    return all(m.get("role") != "user" for m in chat)


def _empty_calls(chat: Chat) -> bool:
    return any(m.get("tool_calls") == [] for m in chat)


def _bad_name_field(chat: Chat) -> bool:
    return any(
        isinstance(m.get("name"), str) and not re.fullmatch(r"[^\s<|\\/>]+", m["name"])
        for m in chat
        if m.get("role") in ("user", "assistant", "system")
    )


def _duplicate_ids(chat: Chat) -> bool:
    made = [c.get("id") for m in chat for c in calls(m)]
    answered = [m.get("tool_call_id") for m in chat if m.get("role") == "tool"]
    return len(set(made)) < len(made) or len(set(answered)) < len(answered)


def _systems(chat: Chat) -> int:
    return sum(m.get("role") in ("system", "developer") for m in chat)


_OPENAI: tuple[Rule, ...] = (
    ("openai-chat-tool-call-id-max40", lambda c: any(len(i) > 40 for i in _ids(c))),
    ("openai-chat-tool-call-function-name", lambda c: _names(c, r"[a-zA-Z0-9_-]{1,64}")),
    ("openai-chat-tool-calls-empty", _empty_calls),
    ("openai-chat-content-null", _null_content),
    ("openai-chat-message-name", _bad_name_field),
)
RULES: dict[str, tuple[Rule, ...]] = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "deepseek": (
        ("deepseek-developer-role", lambda c: any(m.get("role") == "developer" for m in c)),
        ("deepseek-tool-name-pattern", lambda c: _names(c, r"[a-zA-Z0-9_-]{1,64}")),
    ),
    "dashscope": (
        ("qwen-content-null", lambda c: any(m.get("content") is None for m in c)),
        ("qwen-tool-arguments-json", _args_object),
        ("qwen-role-unknown", lambda c: any(m.get("role") == "developer" for m in c)),
        ("qwen-no-user", _no_user),
    ),
    "zai": (("zai-no-user", _no_user),),
    "minimax": (
        ("minimax-multi-system", lambda c: _systems(c) > 1),
        ("minimax-system-role-mid", lambda c: _systems(c[1:]) > 0),
        ("minimax-arguments-json", _args_object),
        ("minimax-tool-result-order", _misplaced),
    ),
    "moonshot": (
        ("moonshot-assistant-empty", _empty_assistant),
        ("moonshot-tool-call-id-not-found", _unknown_id),
        ("moonshot-function-name", lambda c: _names(c, r"[a-zA-Z].*")),
    ),
    "cohere": (
        ("cohere-tool-id-duplicate", _duplicate_ids),
        ("cohere-tool-id-unknown", _unknown_id),
        ("cohere-tool-name", lambda c: _names(c, r"[A-Za-z_][A-Za-z0-9_]*")),
        ("cohere-message-empty-turn", _empty_turn),
    ),
    "groq": (
        ("groq-unknown-message-property", lambda c: any("reasoning_content" in m for m in c)),
        (
            "groq-content-must-be-string",
            lambda c: any(m.get("role") == "tool" and not isinstance(m.get("content"), str) for m in c),
        ),
    ),
}


def check(req: Request) -> list[str]:
    """The rows of the provider, by rule id."""
    if not all(isinstance(m, dict) for m in req.messages):
        return ["a message is not an object"]
    return [rule for rule, refuses in RULES[req.provider] if refuses(req.chat)]
