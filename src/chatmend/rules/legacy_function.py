"""A ``function_call``, or a message of role ``function``, for a target that only knows tool calls.

Why: the form of 2023 has no ids; only OpenAI's own chat API still takes it. Elsewhere the key is refused or ignored, and
its answer becomes an orphan.

Repair: the call becomes a tool call with an id made from what it says, the answer the result of the nearest call of
that name before it.

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
from chatmend.naming import described, mint
from chatmend.rules.malformed_tool_call import without_list
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls and results of the old form."""
    if context.limits.legacy_functions:
        return
    open_calls: dict[object, deque[object]] = {}
    taken: set[str] = set()
    for at, message in enumerate(window.messages):
        calls = any(part.legacy for part in message.calls)
        bare, effect = message, Effect.RESHAPES
        # what stands under the key of the calls, and is none, would be overwritten by them
        if calls and (mended := without_list(message, context)) is not None:
            bare, _, effect = mended
        parts = tuple(_modern(part, open_calls, taken, memory, context) for part in bare.parts)
        if not is_unchanged(message.parts, parts):
            spelling = Role.TOOL if message.spelling == "function" else message.spelling
            without = bare.without | ({"function_call"} if calls else set())
            becomes = replace(bare, parts=parts, spelling=spelling, without=without)
            yield Fix(at, at + 1, (becomes,), "the target knows no function_call", effect)


def _modern(part: object, open_calls: dict[object, deque[object]], taken: set[str], memory: Memory, context: Context):  # type: ignore[no-untyped-def]  # noqa: ANN202
    if isinstance(part, ToolCall) and part.legacy:
        call_id = mint(described(part), memory, context.limits, taken)
        open_calls.setdefault(str(part.name), deque()).append(call_id)
        return replace(part, id=call_id, legacy=False, native=None)
    if isinstance(part, ToolResult) and part.legacy:
        waiting = open_calls.get(str(part.name))
        answered = part.call_id or (waiting.popleft() if waiting else None)
        return replace(part, call_id=answered, name=None, legacy=False)
    return part


RULE = Rule("TOOL001", "legacy-function", find, STRUCTURE)
