"""A message with tool calls that lost its ``reasoning_content``, for a model that wants it back.

Why: ``The `reasoning_content` in the thinking mode must be passed back to the API.`` (DeepSeek); ``thinking is enabled but
reasoning_content is missing in assistant tool call message at index 1`` (Kimi).

Repair: a blank one. What was really thought is gone; nothing is invented in its place.

Before (moonshot/kimi-k2-thinking):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "reasoning_content": " ", "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import NO_REASONING
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with calls and without reasoning."""
    if context.limits.reasoning_content != "required" or not context.traits.typed_calls:
        return
    for at, message in enumerate(window.messages):
        has = any(isinstance(p, Thinking) and p.place == "reasoning_content" and p.text for p in message.parts)
        if message.is_assistant and message.calls and not has:
            blank = Thinking(NO_REASONING, place="reasoning_content")
            others = tuple(p for p in message.parts if not isinstance(p, Thinking) or p.place != "reasoning_content")
            becomes = replace(message, parts=(blank, *others))
            yield Fix(at, at + 1, (becomes,), "the target wants reasoning back with calls", Effect.ADDS)


RULE = Rule("THINK002", "missing-reasoning", find, STRUCTURE)
