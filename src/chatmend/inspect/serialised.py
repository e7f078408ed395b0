"""Reads messages that LangChain's ``dumps`` has written, as its ``messages_to_dict`` would."""

from __future__ import annotations

from typing import Any

_TYPES = {
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}


def from_serialised(value: object) -> object:
    """Return serialised messages as ``{"type": "human", "data": {...}}``; other values unchanged.

    ``messages`` of an object are converted too.
    """
    if isinstance(value, list) and value and all(map(_type_of, value)):
        return [{"type": _type_of(item), "data": item["kwargs"]} for item in value]
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        found = from_serialised(value["messages"])
        return value if found is value["messages"] else {**value, "messages": found}
    return value


def _type_of(item: Any) -> str | None:  # noqa: ANN401 - any JSON value
    if not isinstance(item, dict) or item.get("type") != "constructor":
        return None
    name = item.get("id")
    known = isinstance(name, list) and bool(name) and isinstance(item.get("kwargs"), dict)
    return _TYPES.get(str(name[-1])) if known else None  # type: ignore[index]
