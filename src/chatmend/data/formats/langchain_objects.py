"""Messages that LangChain has serialised, as logged by its tracers or stored by applications.

Tracers write ``{"lc": 1, "type": "constructor", "id": [..., "HumanMessage"], "kwargs": {...}}``;
``messages_to_dict`` writes ``{"type": "human", "data": {...}}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sessions.langchain_dumps import from_native, is_dump, to_native

if TYPE_CHECKING:
    from chatmend.data.rows import Conversations

_TYPES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_CLASSES = {kind: name for name, kind in _TYPES.items()}
_MODULE = ("langchain", "schema", "messages")


def is_serialised(value: object) -> bool:
    """Return whether a value is a non-empty list of serialised messages."""
    return is_dump(value) or (
        isinstance(value, list) and bool(value) and all(map(_is_constructor, value))
    )


def repair(value: list[Any], conversations: Conversations) -> list[Any]:
    """Repair serialised messages; entries of unchanged messages are the same objects."""
    dump = value if is_dump(value) else list(map(_to_entry, value))
    native = to_native(dump)
    done = conversations.repair(native)
    if done is native:
        return value
    entries = from_native(done, native, dump)
    if dump is value:
        return entries
    originals = {id(entry): old for entry, old in zip(dump, value, strict=True)}
    return [originals.get(id(entry)) or _to_constructor(entry) for entry in entries]


def _is_constructor(item: object) -> bool:
    return (
        isinstance(item, dict)
        and item.get("type") == "constructor"
        and isinstance(item.get("kwargs"), dict)
        and isinstance(item.get("id"), list)
        and bool(item["id"])
        and str(item["id"][-1]).removesuffix("Chunk") in _TYPES
    )


def _to_entry(item: dict[str, Any]) -> dict[str, Any]:
    kind = _TYPES[str(item["id"][-1]).removesuffix("Chunk")]
    return {"type": kind, "data": item["kwargs"]}


def _to_constructor(entry: dict[str, Any]) -> dict[str, Any]:
    name = _CLASSES.get(entry["type"], "ChatMessage")
    return {"lc": 1, "type": "constructor", "id": [*_MODULE, name], "kwargs": entry["data"]}
