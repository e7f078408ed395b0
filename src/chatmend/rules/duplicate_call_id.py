"""The same id on two calls, for a target that wants each id once.

Why: ``messages.3.content.1: `tool_use` ids must be unique`` (Anthropic); ``Duplicate tool call id A in assistant
message`` (Mistral). Some servers say ``call_0`` on every turn.

Repair: the first keeps its id; a later one gets the id with a hash behind it, and its result with it. Results answer
calls of one id in their order. Targets that take repeated ids keep them.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0", "content": "one"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0", "content": "two"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0", "content": "one"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0_GFXE8n8C", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0_GFXE8n8C", "content": "two"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.naming import mint, rename, taken_ids
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import ToolCall
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Second and later uses of an id."""
    limits = context.limits
    if limits.unique_call_ids == "no":
        return iter(())
    taken, seen = taken_ids(window), set[str]()

    def choose(call: ToolCall) -> object:
        if not isinstance(call.id, str):
            return call.id
        used = limits.unique_call_ids == "request" and call.id in memory.call_ids
        if used or call.id in seen:
            return mint(call.id, memory, limits, taken)
        seen.add(call.id)
        return call.id

    return rename(window, choose, "another call has the same id")


RULE = Rule("TOOL011", "duplicate-call-id", find, STRUCTURE)
