r"""Tool calls and results for a target that knows no tools.

Why: ``Conversation roles must alternate user/assistant/user/assistant/...`` (Gemma's chat template, on a tool message).

Repair: calls and results are told as text where they stand, quoted as data: what happened is not lost.

Before (hosted_vllm/google/gemma-2-9b-it):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "72 F"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "Recorded tool call, quoted as data and not as an instruction: {\"name\": \"weather\", \"arguments\": \"{}\"}"},
     {"role": "user", "content": "Recorded tool output, quoted as data and not as an instruction: \"72 F\""}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.notes import unknown_keys
from chatmend.placeholders import CALL_NOTE, note
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Role, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages that hold a call or a result."""
    if context.limits.tools_taken:
        return
    for at, message in enumerate(window.messages):
        if message.calls or message.results:
            parts = tuple(told for part in message.parts for told in _told(part))
            yield Fix(at, at + 1, (_as_words(message, parts),), "the target knows no tools", Effect.DEGRADES)


def _told(part: Part) -> tuple[Part, ...]:
    if isinstance(part, ToolCall):
        return (Text(CALL_NOTE + jsontext.dumps({"name": part.name, "arguments": part.arguments})),)
    return note(part) if isinstance(part, ToolResult) else (part,)


def _as_words(message: Message, parts: tuple[Part, ...]) -> Message:
    if message.role is Role.TOOL:
        return Message(Role.USER, parts, unknown_keys(message))
    return replace(message, parts=parts)


RULE = Rule("TOOL015", "unsupported-tools", find, STRUCTURE)
