"""What LangChain's ``messages_to_dict`` wrote: lists of ``{"type": "human", "data": {...}}``, without LangChain.

A message that a repair leaves alone keeps its entry; of a changed one, everything that no repair touches is kept. A
tool call stands in several places of an AI message (``tool_calls``, ``additional_kwargs``, blocks of the content).
LangChain sends the first, so the others go where calls were changed.
"""

from __future__ import annotations

import json
from typing import Any

from chatmend.jsontext import is_one_of

Entry = dict[str, Any]
Native = dict[str, Any]

_ROLES = {"ai": "assistant", "AIMessageChunk": "assistant", "human": "user", "HumanMessageChunk": "user"}
_ROLES |= {"system": "system", "SystemMessageChunk": "system", "tool": "tool", "ToolMessageChunk": "tool"}
_ROLES |= {"function": "function", "FunctionMessageChunk": "function", "chat": "", "ChatMessageChunk": ""}
_TYPES = {"assistant": "ai", "user": "human", "system": "system", "developer": "system", "tool": "tool"}
_CALL_BLOCKS = frozenset(
    {"custom_tool_call", "function_call", "invalid_tool_call", "tool_call", "tool_call_chunk", "tool_use"}
)
_SOURCE = "langchain_source"
"""Where a native message remembers its entry; keys that the core does not know travel along."""


def is_dump(value: object) -> bool:
    """Whether a value is a list of messages as ``messages_to_dict`` writes them."""
    return isinstance(value, list) and bool(value) and all(map(_is_entry, value))


def _is_entry(item: object) -> bool:
    return isinstance(item, dict) and is_one_of(item.get("type"), _ROLES) and isinstance(item.get("data"), dict)


def to_native(dump: list[Entry]) -> list[Native]:
    """The messages as OpenAI writes them."""
    return [_read(entry["type"], entry["data"], at) for at, entry in enumerate(dump)]


def _read(kind: str, data: Entry, at: int) -> Native:
    role = _ROLES[kind] or data.get("role")
    content = data.get("content")
    native: Native = {"role": role, "content": _without_calls(content) if role == "assistant" else content}
    if role == "assistant":
        calls = [_open(call) for name in ("tool_calls", "invalid_tool_calls") for call in data.get(name) or []]
        if calls:
            native["tool_calls"] = calls
    if role == "tool":
        native["tool_call_id"] = data.get("tool_call_id")
    if data.get("name") is not None:
        native["name"] = data["name"]
    return {**native, _SOURCE: at}


def _without_calls(content: Any) -> Any:  # noqa: ANN401 - a text, a list, or something broken
    if not isinstance(content, list):
        return content
    return [block for block in content if not (isinstance(block, dict) and is_one_of(block.get("type"), _CALL_BLOCKS))]


def _open(call: Any) -> Any:  # noqa: ANN401 - a broken dump holds anything
    """A call as OpenAI writes it, its arguments as text."""
    if not isinstance(call, dict):
        return call
    args = call.get("args")
    text = args if isinstance(args, str) else json.dumps({} if args is None else args, ensure_ascii=False)
    return {"type": "function", "id": call.get("id"), "function": {"name": call.get("name"), "arguments": text}}


def from_native(repaired: list[Any], native: list[Native], dump: list[Entry]) -> list[Entry]:
    """The repaired messages as a dump: entries of untouched messages are the very objects."""
    untouched = {id(message): at for at, message in enumerate(native)}
    taken: set[int] = set()
    out = []
    for message in repaired:
        if (at := untouched.get(id(message))) is not None:
            out.append(dump[at])
            continue
        source = message.get(_SOURCE)
        known = source if isinstance(source, int) and 0 <= source < len(dump) and source not in taken else None
        if known is not None:
            taken.add(known)
        out.append(_written(message, None if known is None else (native[known], dump[known])))
    return out


def _written(message: Native, was: tuple[Native, Entry] | None) -> Entry:
    """The entry of a message that was changed, or that was not there before."""
    kind = _TYPES.get(message.get("role", ""), "chat")
    old, entry = was or ({}, {"type": kind, "data": {}})
    same = _ROLES.get(entry["type"]) == _ROLES.get(kind)
    data: Entry = {"additional_kwargs": {}, "response_metadata": {}, **entry["data"]} if same else {}
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
    written = entry["type"] if same else kind
    return {**(entry if same else {}), "type": written, "data": {**data, "type": written}}


def _write_calls(data: Entry, calls: list[Any]) -> None:
    closed = [_closed(call) for call in calls]
    data["tool_calls"] = [call for call in closed if call["type"] == "tool_call"]
    data["invalid_tool_calls"] = [call for call in closed if call["type"] == "invalid_tool_call"]
    kwargs = data.get("additional_kwargs")
    if isinstance(kwargs, dict):
        data["additional_kwargs"] = {k: v for k, v in kwargs.items() if k not in ("tool_calls", "function_call")}
    data["content"] = _without_calls(data.get("content"))


def _closed(call: Any) -> Entry:  # noqa: ANN401 - as it was repaired
    function = call.get("function") or {}
    name, raw = function.get("name"), function.get("arguments")
    try:
        args = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        args = None
    if isinstance(args, dict):
        return {"name": name, "args": args, "id": call.get("id"), "type": "tool_call"}
    return {"name": name, "args": raw, "id": call.get("id"), "error": None, "type": "invalid_tool_call"}
