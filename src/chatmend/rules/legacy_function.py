"""A ``function_call`` or ``function`` message, for a target that accepts only tool calls.

Why: This format of 2023 has no ids, and only OpenAI's own chat API still accepts it. Other
providers refuse or ignore the key, so that the result becomes an orphan.

Repair: The call becomes a tool call with an id made from its name and arguments. The message with
the role ``function`` becomes the result of the first earlier call of that name without a result.

Before (mistral/mistral-large-latest):
    [{"role": "user", "content": "time?"},
     {"role": "assistant", "content": null, "function_call": {"name": "now", "arguments": "{}"}},
     {"role": "function", "name": "now", "content": "noon"}]
After:
    [{"role": "user", "content": "time?"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "Baazr3hUM", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},
     {"role": "tool", "content": "noon", "tool_call_id": "Baazr3hUM"}]
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.naming import describe_call, new_call_id
from chatmend.rules.malformed_tool_call import remove_tool_calls_key
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert calls and results of the legacy format."""
    if context.limits.legacy_functions:
        return
    open_calls: dict[object, deque[object]] = {}
    taken: set[str] = set()
    for at, message in enumerate(window.messages):
        calls = any(part.legacy for part in message.calls)
        base, effect = message, Effect.RESHAPES
        # A value of ``tool_calls`` that holds no calls would be overwritten by the new calls.
        if calls and (without_tool_calls := remove_tool_calls_key(message, context)) is not None:
            base, _, effect = without_tool_calls
        parts = tuple(
            _convert_part(part, open_calls, taken, memory, context) for part in base.parts
        )
        if not is_unchanged(message.parts, parts):
            role = Role.TOOL if message.native_role == "function" else message.native_role
            without = base.omitted_keys | ({"function_call"} if calls else set())
            becomes = replace(base, parts=parts, native_role=role, omitted_keys=without)
            yield Fix(
                at,
                at + 1,
                (becomes,),
                "the target does not accept the function_call format",
                effect,
            )


def _convert_part(  # type: ignore[no-untyped-def]  # noqa: ANN202
    part: object,
    open_calls: dict[object, deque[object]],
    taken: set[str],
    memory: Memory,
    context: Context,
):
    if isinstance(part, ToolCall) and part.legacy:
        call_id = new_call_id(describe_call(part), memory, context.limits, taken)
        open_calls.setdefault(str(part.name), deque()).append(call_id)
        return replace(part, id=call_id, legacy=False, native=None)
    if isinstance(part, ToolResult) and part.legacy:
        waiting = open_calls.get(str(part.name))
        answered_id = part.call_id or (waiting.popleft() if waiting else None)
        return replace(part, call_id=answered_id, name=None, legacy=False)
    return part


RULE = Rule("TOOL001", "legacy-function", find, STRUCTURE)
