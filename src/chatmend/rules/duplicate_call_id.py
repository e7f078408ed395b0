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

from chatmend.rules.naming import find_renamed, mint
from chatmend.rules.rule import Choose, Context, Renaming, Rule
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix


def chooser(taken: set[str], memory: Memory, context: Context) -> Choose | None:
    """Gives second and later uses of an id another one."""
    limits = context.limits
    if limits.unique_call_ids == "no":
        return None
    seen: set[str] = set()

    def choose(call_id: object) -> object:
        if not isinstance(call_id, str):
            return call_id
        used = limits.unique_call_ids == "request" and call_id in memory.call_ids
        if used or call_id in seen:
            return mint(call_id, memory, limits, taken)
        seen.add(call_id)
        return call_id

    return choose


RENAMING = Renaming("another call has the same id", chooser)


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Second and later uses of an id."""
    return find_renamed(window, memory, context, RENAMING)


RULE = Rule("TOOL011", "duplicate-call-id", Symptom.IDS, find, RENAMING)
