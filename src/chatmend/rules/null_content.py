"""Null or missing content, or an empty list as a tool result, where the target refuses it.

Why: ``Invalid value for 'content': expected a string, got null.`` (OpenAI); ``The content field is
a required field`` (Qwen, even in messages with tool calls).

Repair: The content becomes the empty string; if that is refused too, later rules fill it. The
content of an answer becomes its ``refusal``, or the transcript of its ``audio``, where the model
does not read these keys. A text that an application has stored under ``text`` or ``value`` becomes
the content of its message. If an output item of the Responses API has ``content`` instead of
``output``, as in Chat Completions, this becomes its output.

Before (openai/gpt-4o):
    [{"role": "user", "content": null}]
After:
    [{"role": "user", "content": ""}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.emptiness import declares_tools
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Role, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages without content."""
    if context.limits.null_content is None:
        return
    for at, message in enumerate(window.messages):
        native = message.extra
        if not message.is_object or message.is_opaque or declares_tools(message, context.limits):
            continue
        is_empty_list = (
            native.get("content") == []
            and message.role is Role.TOOL
            and not context.limits.empty_lists
        )
        filled = (
            {**native, "content": ""} if is_empty_list else context.dialect.fill_content(native)
        )
        if filled is None:
            parts = tuple(map(_without_null, message.parts))
            if not is_unchanged(message.parts, parts):
                yield Fix(
                    at, at + 1, (message.with_parts(parts),), "the content of a tool result is null"
                )
            continue
        if is_empty_list or _is_refused(message, context.limits):
            becomes = message.with_words_as_content()
            if becomes is message:
                empty = context.dialect.read(filled)
                becomes = replace(empty, role=message.role, native_role=message.native_role)
            yield Fix(at, at + 1, (becomes,), "the target requires content in this message")


def _is_refused(message: Message, limits: Limits) -> bool:
    """Return whether the target refuses this message with null or missing content."""
    native, refused = message.extra, limits.null_content or ()
    if not (message.is_assistant and message.calls):
        is_answer = message.is_assistant and any(
            native.get(key) is not None for key in limits.answer_keys
        )
        return str(message.role) in refused and not is_answer
    return "assistant+calls" in refused and ("content" in native or limits.missing_content_is_null)


def _without_null(part: Part) -> Part:
    """Remove the content of a result in a user message if it is null."""
    if isinstance(part, ToolResult) and part.extra.get("type") == "tool_result":
        native = part.extra
        if "content" in native and native["content"] is None:
            return replace(
                part, native={key: value for key, value in native.items() if key != "content"}
            )
    return part


RULE = Rule("TEXT002", "null-content", find, STRUCTURE)
