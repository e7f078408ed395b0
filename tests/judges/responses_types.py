"""Judge: the OpenAI SDK's types of Responses items, one per ``type`` (and, for messages, per role)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .typed_dicts import by_type, faults

if TYPE_CHECKING:
    from .request import Json, Request

_LENT: dict[str, dict[str, Json]] = {
    "reasoning": {"id": "lent"},
    "message": {"id": "lent"},
    "web_search_call": {"id": "lent"},
    "file_search_call": {"id": "lent"},
    "local_shell_call": {"id": "lent"},
    "local_shell_call_output": {"id": "lent"},
    "image_generation_call": {"result": None, "status": "completed"},
}
"""Required keys that accepted requests lack, by type of item: the SDK's types describe what comes back.

Recorded requests have such items without an id; AI SDK sends outputs of a local shell without one. OpenAI's guide to image generation refers to an image by its id only.
"""


@cache
def _items() -> dict[str, Any]:
    from openai.types.responses import ResponseInputItemParam

    return by_type(ResponseInputItemParam)


def responses_types(request: Request) -> list[str]:
    """Validate each item against the type that it names."""
    if not isinstance(request.messages, list):
        return ["input: not a list"]
    return [
        fault
        for index, item in enumerate(request.messages)
        for fault in _faults(item, f"input[{index}]")
    ]


def _faults(item: Json, where: str) -> list[str]:
    if not isinstance(item, dict):
        return [f"{where}: not an object"]
    kind = item.get("type", "message")
    if kind == "message":
        return _message_faults(item, where)
    known = _items().get(kind) if isinstance(kind, str) else None
    if known is None:
        return [f"{where}.type: missing or unknown"]
    lent = {**_LENT.get(kind, {}), **item}
    if kind == "web_search_call" and isinstance(item.get("action"), dict):
        lent["action"] = {key: value for key, value in item["action"].items() if value is not None}
    return faults(known, lent, where)


def _message_faults(item: dict[str, Json], where: str) -> list[str]:
    from openai.types.responses import EasyInputMessageParam, ResponseOutputMessageParam

    content = item.get("content")
    if item.get("role") != "assistant" or not isinstance(content, list):
        return faults(EasyInputMessageParam, item, where)
    # Recorded requests have such messages without an id, a status and annotations.
    parts = [{"annotations": [], **part} if isinstance(part, dict) else part for part in content]
    lent = {"id": "lent", "status": "completed", "type": "message", **item, "content": parts}
    return faults(ResponseOutputMessageParam, lent, where)
