"""Judge: the OpenAI SDK's message types, one per role."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .reading import calls, function, objects
from .typed_dicts import faults

if TYPE_CHECKING:
    from .request import Json, Request


@cache
def _roles() -> dict[str, Any]:
    from openai.types import chat

    return {
        "developer": chat.ChatCompletionDeveloperMessageParam,
        "system": chat.ChatCompletionSystemMessageParam,
        "user": chat.ChatCompletionUserMessageParam,
        "assistant": chat.ChatCompletionAssistantMessageParam,
        "tool": chat.ChatCompletionToolMessageParam,
        "function": chat.ChatCompletionFunctionMessageParam,
    }


_MOST_CALLS = 128
"""Calls that OpenAI accepts in a message, which its types do not tell (openai/openai-dotnet#317)."""


def openai_types(request: Request) -> list[str]:
    """Validate each message against its own role's type, and the number of its calls."""
    found = message_faults(request.messages, request.provider)
    if request.provider not in ("openai", "azure"):
        return found
    return found + [
        f"messages[{at}].tool_calls: {len(calls(message))} calls, allowed are {_MOST_CALLS}"
        for at, message in enumerate(objects(request.messages))
        if len(calls(message)) > _MOST_CALLS
    ]


def message_faults(messages: Json, provider: str = "openai") -> list[str]:
    """The same for any list of messages, such as what LiteLLM made of it."""
    if not isinstance(messages, list):
        return ["messages: not a list"]
    return [
        fault
        for index, message in enumerate(messages)
        for fault in _faults(message, provider, index)
    ]


def _faults(message: Json, provider: str, index: int) -> list[str]:
    where = f"messages[{index}]"
    if not isinstance(message, dict):
        return [f"{where}: not an object"]
    role = message.get("role")
    kind = _roles().get(role) if isinstance(role, str) else None
    if kind is None:
        return [f"{where}.role: missing or unknown"]
    return faults(kind, _tolerated(message, provider), where)


def _tolerated(message: dict[str, Json], provider: str) -> dict[str, Json]:
    """Adapt messages where recorded, accepted requests differ from OpenAI's types."""
    message = _LENDERS.get(provider, dict)(message)
    content = message.get("content")
    if not isinstance(content, list):
        return message
    if message["role"] == "assistant" and not content:
        return {**message, "content": ""}
    told = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    # Several models take images in results (openai-chat-accepts-image-in-tool, xai-accepts-image-in-tool).
    return {**message, "content": without_images(told) if message["role"] == "tool" else told}


def without_images(content: list[Json]) -> list[Json]:
    """The parts of a content list that are not images."""
    return [
        part for part in content if not (isinstance(part, dict) and part.get("type") == "image_url")
    ]


def _as_zai(message: dict[str, Json]) -> dict[str, Json]:
    """Z.ai takes results without an id (zai-accepts-tool-without-id)."""
    return {"tool_call_id": "lent", **message} if message["role"] == "tool" else message


def _as_ollama(message: dict[str, Json]) -> dict[str, Json]:
    """Ollama's own API has no ids, and arguments as objects (ollama-accepts-tools-empty)."""
    if not isinstance(message.get("tool_calls"), list):
        return {"tool_call_id": "lent", **message} if message["role"] == "tool" else message
    lent = [{"id": "lent", "type": "function", **call} for call in calls(message)]
    for call in lent:
        if isinstance(function(call).get("arguments"), dict):
            call["function"] = {**call["function"], "arguments": "{}"}
    return (
        {**message, "tool_calls": lent}
        if objects(message["tool_calls"]) == message["tool_calls"]
        else message
    )


_LENDERS = {"zai": _as_zai, "ollama": _as_ollama, "ollama_chat": _as_ollama}
