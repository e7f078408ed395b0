"""A content of ``null``, or none, or a result that is a list of nothing, where the target wants one.

Why: ``Invalid value for 'content': expected a string, got null.`` (OpenAI); ``The content field is a required field``
(Qwen, even beside tool calls).

Repair: the empty string, which the next rules fill where that is refused too. What stands under another key of a
Responses output, as chat has it, is its content.

Before (openai/gpt-4o):
    [{"role": "user", "content": null}]
After:
    [{"role": "user", "content": ""}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Part, Role, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages without content."""
    refused = context.limits.null_content
    if refused is None:
        return
    for at, message in enumerate(window.messages):
        native = message.extra
        if not message.is_object or message.is_entry:
            continue
        bare = native.get("content") == [] and message.role is Role.TOOL and not context.limits.empty_lists
        filled = {**native, "content": ""} if bare else context.dialect.filled(native)
        if filled is None:
            parts = tuple(map(_without_null, message.parts))
            if not is_unchanged(message.parts, parts):
                yield Fix(at, at + 1, (replace(message, parts=parts),), "a result has no content")
            continue
        kind = "assistant+calls" if message.calls and message.role is Role.ASSISTANT else str(message.role)
        if bare or kind in refused:
            empty = context.dialect.read(filled)
            becomes = replace(empty, role=message.role, spelling=message.spelling)
            yield Fix(at, at + 1, (becomes,), "the target wants a content")


def _without_null(part: Part) -> Part:
    """A result inside a user message without a content of null."""
    if isinstance(part, ToolResult) and part.extra.get("type") == "tool_result":
        native = part.extra
        if "content" in native and native["content"] is None:
            return replace(part, native={key: value for key, value in native.items() if key != "content"})
    return part


RULE = Rule("TEXT002", "null-content", find, STRUCTURE)
