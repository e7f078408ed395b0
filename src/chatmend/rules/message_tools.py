"""The tools that messages of a request define, in addition to its ``tools``.

Anthropic's ``tool_addition`` may hold the definition of a tool, and a ``compaction`` block repeats
those of the messages that it summarizes (``tool_changes``). OpenAI's ``additional_tools`` and the
results of its tool search hold definitions, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_ADDITION, _DEFINITION, _COMPACTION = "tool_addition", "tool_definition", "compaction"
_ITEMS = ("additional_tools", "tool_search_output")


def defined_tools(message: dict[str, Any]) -> Iterator[object]:
    """Yield the definitions of tools in a message, which have the form of those in ``tools``."""
    if message.get("type") in _ITEMS:
        yield from _listed(message.get("tools"))
    for block in _listed(message.get("content")):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == _ADDITION:
            yield from _defined_by(block)
        elif kind == _COMPACTION:
            for change in _listed(block.get("tool_changes")):
                yield from _defined_by(change)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _defined_by(change: Any) -> Iterator[object]:  # noqa: ANN401 - any JSON value
    """Yield the definition in a change of the tools, unless it only names a tool."""
    is_addition = isinstance(change, dict) and change.get("type") == _ADDITION
    tool = change.get("tool") if is_addition else None
    if isinstance(tool, dict) and tool.get("type") == _DEFINITION:
        yield tool.get("definition")
