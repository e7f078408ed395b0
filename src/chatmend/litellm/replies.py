"""The reply of a call as a message that can be sent again, in the dialect of its request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NOT_SENT_AGAIN = frozenset(
    {"annotations", "audio", "function_call", "images", "provider_specific_fields", "refusal"}
)
"""Keys that LiteLLM adds to a chat message, empty or as copies; no provider receives them."""


def reply_of(dialect: str, kwargs: Mapping[str, Any], response: Any) -> Any:
    """Return the reply, or ``None`` if LiteLLM's record does not contain it in that dialect."""
    reader = _READERS.get(dialect)
    return None if reader is None else reader(kwargs, response)


def _chat_reply(_kwargs: Mapping[str, Any], response: Any) -> Any:
    message = _message(response)
    if message is None:
        return None
    non_empty = {key: value for key, value in message.items() if value or key == "content"}
    kept = {key: value for key, value in non_empty.items() if key not in _NOT_SENT_AGAIN}
    return {"role": "assistant", "content": None, **kept}


def _anthropic_reply(kwargs: Mapping[str, Any], response: Any) -> Any:
    """Return the original content blocks; for a stream, blocks built from LiteLLM's message."""
    body = _parsed(kwargs.get("original_response"))
    if (
        isinstance(body, dict)
        and body.get("type") == "message"
        and isinstance(body.get("content"), list)
    ):
        return {"role": "assistant", "content": body["content"]}
    message = _message(response)
    if message is None:
        return None
    text, calls = message.get("content"), message.get("tool_calls") or []
    blocks = [
        *(message.get("thinking_blocks") or []),
        *([{"type": "text", "text": text}] if text else []),
    ]
    return {"role": "assistant", "content": blocks + [_tool_use(call) for call in calls]}


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = _parsed(function["arguments"] or "{}")
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}


def _responses_reply(_kwargs: Mapping[str, Any], response: Any) -> Any:
    output = (
        response.get("output") if isinstance(response, dict) else getattr(response, "output", None)
    )
    return [_as_dict(item) for item in output] if isinstance(output, list) else None


def _gemini_reply(kwargs: Mapping[str, Any], _response: Any) -> Any:
    """Return the content of the HTTP response: LiteLLM's message lacks the thought signatures."""
    try:
        return kwargs["httpx_response"].json()["candidates"][0]["content"]
    except Exception:  # noqa: BLE001 - a stream, or a response without content
        return None


def _message(response: Any) -> dict[str, Any] | None:
    """Return the message of the first choice in a chat response."""
    choices = getattr(response, "choices", None)
    message = _as_dict(getattr(choices[0], "message", None)) if choices else None
    return message if isinstance(message, dict) else None


def _as_dict(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


_READERS: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    "openai_chat": _chat_reply,
    "anthropic_messages": _anthropic_reply,
    "openai_responses": _responses_reply,
    "gemini_contents": _gemini_reply,
}
