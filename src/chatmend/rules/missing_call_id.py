"""A tool call whose id is missing, empty or not a string.

Why: ``Missing required parameter: 'messages[2].tool_call_id'.`` (OpenAI). Without ids, results
cannot be matched to calls.

Repair: The call gets an id that is a hash of its name, its arguments and the number of equal
earlier calls. Results without an id are matched to the calls without an id, in order.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "f_QbizrKTv", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "content": "done", "tool_call_id": "f_QbizrKTv"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.naming import describe_call, new_call_id, rename_calls
from chatmend.rules.rule import STRUCTURE, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import ToolCall
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes for calls without a valid id."""
    if not (context.limits.call_id_required or context.limits.optional_call_ids):
        return iter(())
    taken = {
        call.id for message in window.messages for call in message.calls if isinstance(call.id, str)
    }

    def choose(call: ToolCall) -> object:
        if isinstance(call.id, str) and call.id:
            return call.id
        if not context.limits.call_id_required:
            return None
        return new_call_id(describe_call(call), memory, context.limits, taken)

    return rename_calls(
        window,
        choose,
        "the call has no valid id",
        removes_invalid=not context.limits.call_id_required,
    )


RULE = Rule("TOOL002", "missing-call-id", find, STRUCTURE)
