"""The reply of a call as a message that can be sent again, in the dialect of its request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OURS_NOT = frozenset({"annotations", "audio", "function_call", "images", "provider_specific_fields", "refusal"})
"""What LiteLLM writes beside a chat message and no provider is sent, where there is nothing in it or it is a copy."""


def reply_of(dialect: str, kwargs: Mapping[str, Any], response: Any) -> Any:
    """What came back, or ``None`` where LiteLLM's record does not hold it in that dialect."""
    reader = _READERS.get(dialect)
    return None if reader is None else reader(kwargs, response)


def _chat(_kwargs: Mapping[str, Any], response: Any) -> Any:
    message = _message(response)
    if message is None:
        return None
    told = {key: value for key, value in message.items() if value or key == "content"}
    kept = {key: value for key, value in told.items() if key not in _OURS_NOT}
    return {"role": "assistant", "content": None, **kept}


def _anthropic(kwargs: Mapping[str, Any], response: Any) -> Any:
    """The very blocks, or where LiteLLM put them together from a stream, blocks made of its message."""
    body = _parsed(kwargs.get("original_response"))
    if isinstance(body, dict) and body.get("type") == "message" and isinstance(body.get("content"), list):
        return {"role": "assistant", "content": body["content"]}
    message = _message(response)
    if message is None:
        return None
    text, calls = message.get("content"), message.get("tool_calls") or []
    blocks = [*(message.get("thinking_blocks") or []), *([{"type": "text", "text": text}] if text else [])]
    return {"role": "assistant", "content": blocks + [_tool_use(call) for call in calls]}


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    called = _parsed(function["arguments"] or "{}")
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": called}


def _responses(_kwargs: Mapping[str, Any], response: Any) -> Any:
    output = response.get("output") if isinstance(response, dict) else getattr(response, "output", None)
    return [_plain(item) for item in output] if isinstance(output, list) else None


def _gemini(kwargs: Mapping[str, Any], _response: Any) -> Any:
    """As it came over the wire: LiteLLM's own message has lost the signatures of thoughts."""
    try:
        return kwargs["httpx_response"].json()["candidates"][0]["content"]
    except Exception:  # noqa: BLE001 - a stream, or an answer without content
        return None


def _message(response: Any) -> dict[str, Any] | None:
    """The first choice of a chat response."""
    choices = getattr(response, "choices", None)
    message = _plain(getattr(choices[0], "message", None)) if choices else None
    return message if isinstance(message, dict) else None


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


_READERS: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    "openai_chat": _chat,
    "anthropic_messages": _anthropic,
    "openai_responses": _responses,
    "gemini_contents": _gemini,
}
