"""Two tool calls with the same id, for a target that requires unique ids.

Why: ``messages.3.content.1: `tool_use` ids must be unique`` (Anthropic); ``Duplicate tool call id A
in assistant message`` (Mistral). Some servers use the id ``call_0`` in every turn.

Repair: The first call keeps its id. A later call and its result get a new id, made from the old one
and a hash. Results are assigned to calls with the same id in order. For targets that accept
repeated ids, nothing is changed.

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
         {"id": "call_0_GFXE8n8C", "type": "function",
          "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0_GFXE8n8C", "content": "two"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.naming import call_ids_of, new_call_id, rename_calls
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import ToolCall
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that give new ids to the second and later calls with the same id."""
    limits = context.limits
    if limits.unique_call_ids == "no":
        return iter(())
    taken, seen = call_ids_of(window), set[str]()

    def choose(call: ToolCall) -> object:
        if not isinstance(call.id, str):
            return call.id
        used = limits.unique_call_ids == "request" and call.id in memory.call_ids
        if used or call.id in seen:
            return new_call_id(call.id, memory, limits, taken)
        seen.add(call.id)
        return call.id

    return rename_calls(window, choose, "another call has the same id")


RULE = Rule("TOOL011", "duplicate-call-id", find, STRUCTURE)
