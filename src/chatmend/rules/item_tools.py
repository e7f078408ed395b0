"""The tools in an ``additional_tools`` item of the Responses API, and how a request declares them.

Codex declares its tools in such an item. A server that does not support the item reads only the
``tools`` of the request.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.rules.rule import Request

CODE, NAME = "ITEM005", "unsupported-item"
TOOLS = "additional_tools"
"""The type of the item."""
_Tool = dict[str, Any]


def split_tools(tools: object, *, has_custom: bool) -> tuple[list[_Tool], list[str]]:
    """Return the tools of an item that any request can declare, and the types of the others.

    The functions of a namespace are declared without it. ``has_custom``: whether the target
    supports custom tools; otherwise they become functions, as their calls do.
    """
    declared: list[_Tool] = []
    lost: set[str] = set()
    for tool in _flattened(tools):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            lost.add(kind if isinstance(kind, str) else "unknown")
        elif kind == "function" or (kind == "custom" and has_custom):
            declared.append(tool)
        elif kind == "custom":
            declared.append(_as_function(tool))
        else:
            lost.add(str(kind))
    return declared, sorted(lost)


def _flattened(tools: object) -> Iterator[object]:
    for tool in tools if isinstance(tools, list) else ():
        is_namespace = isinstance(tool, dict) and tool.get("type") == "namespace"
        inner = tool.get("tools") if is_namespace else None
        yield from inner if isinstance(inner, list) else (tool,)


def _as_function(tool: _Tool) -> _Tool:
    """Return a function for a custom tool: its text is the argument ``input``."""
    text = {"type": "string"}
    form = tool.get("format")
    if isinstance(form, dict) and isinstance(form.get("definition"), str):
        syntax = form.get("syntax")
        text["description"] = f"Text that matches this {syntax} grammar:\n{form['definition']}"
    schema = {
        "type": "object",
        "properties": {"input": text},
        "required": ["input"],
        "additionalProperties": False,
    }
    kept = {key: value for key, value in tool.items() if key != "format"}
    return {**kept, "type": "function", "parameters": schema}


def declare(tools: Sequence[_Tool], request: Request) -> tuple[Request, list[Change]]:
    """Add tools of removed items to a request, except those whose name it declares already.

    If the tools of the request are unknown, nothing changes.
    """
    own = request.tools
    if not isinstance(own, list):
        return request, []
    known = {str(tool.get("name")) for tool in own if isinstance(tool, dict)}
    by_name: dict[str, _Tool] = {}
    for tool in tools:
        by_name.setdefault(tool["name"], tool)
    added = [tool for name, tool in by_name.items() if name not in known]
    if not added:
        return request, []
    why = "moved from an item that the target does not support"
    new = [*own, *added]
    change = Change(CODE, NAME, Effect.RESHAPES, None, why, (own,), (new,), where="tools")
    return replace(request, tools=new), [change]
