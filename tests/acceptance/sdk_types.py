"""Validate against the request types the vendors publish in their own SDKs."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from .base import Request, native_ollama

_CONFIG = ConfigDict(arbitrary_types_allowed=True)


def _exhaust(value: Any) -> None:
    """Pydantic validates `Iterable` fields only when read, so read everything."""
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for item in value:
            _exhaust(item)


def refusals(adapter: TypeAdapter[Any], value: Any, where: str) -> list[str]:
    """The validation errors of one value, short enough to read in a test report."""
    try:
        _exhaust(adapter.validate_python(value))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return [f"{where}: {'.'.join(map(str, e['loc']))} {e['msg']}" for e in found[:3]]
    except UnicodeError as error:
        return [f"{where}: {error}"]
    return []


@cache
def _openai(role: str) -> TypeAdapter[Any]:
    """One adapter per role: the union would report the errors of all six types."""
    import openai.types.chat as chat

    return TypeAdapter(
        {
            "system": chat.ChatCompletionSystemMessageParam,
            "developer": chat.ChatCompletionDeveloperMessageParam,
            "user": chat.ChatCompletionUserMessageParam,
            "assistant": chat.ChatCompletionAssistantMessageParam,
            "tool": chat.ChatCompletionToolMessageParam,
            "function": chat.ChatCompletionFunctionMessageParam,
        }[role]
    )


@cache
def _anthropic() -> TypeAdapter[Any]:
    from anthropic.types import MessageParam

    return TypeAdapter(MessageParam, config=_CONFIG)


def _loosened(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Recorded 200s the types refuse: bare strings as parts, images in tool messages."""
    content = message.get("content")
    if not isinstance(content, list):
        return [message]
    parts = [{"type": "text", "text": p} if isinstance(p, str) else p for p in content]
    if message.get("role") != "tool":
        return [{**message, "content": parts}]
    images = [p for p in parts if isinstance(p, dict) and p.get("type") == "image_url"]
    rest = [p for p in parts if p not in images]
    return [{**message, "content": rest}, *([{"role": "user", "content": images}] if images else [])]


def check_openai(req: Request) -> list[str]:
    """The published OpenAI message types, which compatible servers copy."""
    if native_ollama(req):
        return []
    out: list[str] = [] if req.messages else ["messages is empty"]
    for i, message in enumerate(req.messages):
        role = message.get("role") if isinstance(message, dict) else None
        try:
            adapter = _openai(role)
        except (KeyError, TypeError):
            out.append(f"messages.{i}: unknown role {role!r}")
            continue
        for part in _loosened(message):
            out += refusals(adapter if part["role"] == role else _openai("user"), part, f"messages.{i}")
    return out


def anthropic_types(messages: list[Any]) -> list[str]:
    """The published Anthropic message types."""
    out = []
    for i, message in enumerate(messages):
        out += refusals(_anthropic(), message, f"messages.{i}")
    return out
