"""Reads and writes dumps of LangChain's ``messages_to_dict`` without LangChain.

A dump is a list of ``{"type": "human", "data": {...}}``. Entries of unchanged messages are kept;
entries of changed messages keep all data that the repair did not change. An AI message contains a
tool call several times (``tool_calls``, ``additional_kwargs``, content blocks). LangChain sends
``tool_calls``, so the others are removed when calls are changed.
"""

from __future__ import annotations

import json
from typing import Any

from chatmend.jsontext import is_one_of

Entry = dict[str, Any]
Native = dict[str, Any]

_ROLES = {
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "human": "user",
    "HumanMessageChunk": "user",
}
_ROLES |= {
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
}
_ROLES |= {
    "function": "function",
    "FunctionMessageChunk": "function",
    "chat": "",
    "ChatMessageChunk": "",
}
_TYPES = {
    "assistant": "ai",
    "user": "human",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
_CALL_BLOCKS = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "invalid_tool_call",
        "tool_call",
        "tool_call_chunk",
        "tool_use",
    }
)
_SOURCE = "langchain_source"
"""The key of a native message that holds the index of its entry; repairs keep unknown keys."""


def is_dump(value: object) -> bool:
    """Whether a value is a non-empty dump of ``messages_to_dict``."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and "data" in value[0]
        and all(map(_is_entry, value))
    )


def _is_entry(item: object) -> bool:
    return (
        isinstance(item, dict)
        and is_one_of(item.get("type"), _ROLES)
        and isinstance(item.get("data"), dict)
    )


def to_native(dump: list[Entry]) -> list[Native]:
    """Return the messages in OpenAI's format."""
    return [
        _entry_to_native(entry["type"], entry["data"], index) for index, entry in enumerate(dump)
    ]


def _entry_to_native(kind: str, data: Entry, index: int) -> Native:
    role = _ROLES[kind] or data.get("role")
    content = data.get("content")
    native: Native = {
        "role": role,
        "content": _without_calls(content) if role == "assistant" else content,
    }
    if role == "assistant":
        calls = [
            _to_openai_call(call)
            for name in ("tool_calls", "invalid_tool_calls")
            for call in data.get(name) or []
        ]
        if calls:
            native["tool_calls"] = calls
    if role == "tool":
        native["tool_call_id"] = data.get("tool_call_id")
    if data.get("name") is not None:
        native["name"] = data["name"]
    return {**native, _SOURCE: index}


def _without_calls(content: Any) -> Any:  # noqa: ANN401 - a text, a list, or malformed
    if not isinstance(content, list):
        return content
    return [
        block
        for block in content
        if not (isinstance(block, dict) and is_one_of(block.get("type"), _CALL_BLOCKS))
    ]


def _to_openai_call(call: Any) -> Any:  # noqa: ANN401 - malformed dumps contain any value
    """Return a call in OpenAI's format, with its arguments as text."""
    if not isinstance(call, dict):
        return call
    args = call.get("args")
    text = (
        args
        if isinstance(args, str)
        else json.dumps({} if args is None else args, ensure_ascii=False)
    )
    return {
        "type": "function",
        "id": call.get("id"),
        "function": {"name": call.get("name"), "arguments": text},
    }


def from_native(repaired: list[Any], native: list[Native], dump: list[Entry]) -> list[Entry]:
    """Return the repaired messages as a dump; unchanged messages keep their entry objects."""
    unchanged = {id(message): index for index, message in enumerate(native)}
    taken: set[int] = set()
    out = []
    for message in repaired:
        if (index := unchanged.get(id(message))) is not None:
            out.append(dump[index])
            continue
        source = message.get(_SOURCE)
        known = (
            source
            if isinstance(source, int) and 0 <= source < len(dump) and source not in taken
            else None
        )
        if known is not None:
            taken.add(known)
        out.append(
            _native_to_entry(message, None if known is None else (native[known], dump[known]))
        )
    return out


def _native_to_entry(message: Native, original: tuple[Native, Entry] | None) -> Entry:
    """Return the entry of a changed message, or of a new message if ``original`` is None."""
    kind = _TYPES.get(message.get("role", ""), "chat")
    old, entry = original or ({}, {"type": kind, "data": {}})
    same = _ROLES.get(entry["type"]) == _ROLES.get(kind)
    data: Entry = (
        {"additional_kwargs": {}, "response_metadata": {}, **entry["data"]} if same else {}
    )
    if message.get("content") is not old.get("content") or "content" not in data:
        data["content"] = "" if message.get("content") is None else message["content"]
    if kind == "ai" and message.get("tool_calls") is not old.get("tool_calls"):
        _write_calls(data, message.get("tool_calls") or [])
    if message.get("name") != old.get("name"):
        data["name"] = message.get("name")
    if kind == "tool":
        data["tool_call_id"] = message.get("tool_call_id")
    if kind == "chat":
        data["role"] = message.get("role")
    new_kind = entry["type"] if same else kind
    return {**(entry if same else {}), "type": new_kind, "data": {**data, "type": new_kind}}


def _write_calls(data: Entry, calls: list[Any]) -> None:
    converted = [_to_langchain_call(call) for call in calls]
    data["tool_calls"] = [call for call in converted if call["type"] == "tool_call"]
    data["invalid_tool_calls"] = [call for call in converted if call["type"] == "invalid_tool_call"]
    kwargs = data.get("additional_kwargs")
    if isinstance(kwargs, dict):
        data["additional_kwargs"] = {
            k: v for k, v in kwargs.items() if k not in ("tool_calls", "function_call")
        }
    data["content"] = _without_calls(data.get("content"))


def _to_langchain_call(call: Any) -> Entry:  # noqa: ANN401 - a repaired call
    function = call.get("function") or {}
    name, raw = function.get("name"), function.get("arguments")
    try:
        args = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        args = None
    if isinstance(args, dict):
        return {"name": name, "args": args, "id": call.get("id"), "type": "tool_call"}
    return {
        "name": name,
        "args": raw,
        "id": call.get("id"),
        "error": None,
        "type": "invalid_tool_call",
    }
