"""A call id that the target refuses: its characters, its length.

Why: ``messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`` (Anthropic); ``string too long.
Expected a string with maximum length 40`` (OpenAI); ``Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length
of 9.`` (Mistral).

Repair: an id made of the legal characters of the old one and a hash of it, so that two ids never become one; the results
are renamed along. It depends on this id and on earlier ones, never on later ones. Legal ids stay.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "functions.bash:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "functions.bash:0", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "functions_bash_0_0CskT9pA", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "functions_bash_0_0CskT9pA", "content": "done"}]

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0123456789012345678901234567890123456789", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0123456789012345678901234567890123456789", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_01234567890123456789012345_u1U3ZjOV", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_01234567890123456789012345_u1U3ZjOV", "content": "done"}]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chatmend.jsontext import is_sound
from chatmend.naming import mint, rename, taken_ids
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets import Limits
    from chatmend.transcript import ToolCall
    from chatmend.windows import Memory, Window


def is_legal(call_id: object, limits: Limits) -> bool:
    """Whether the target takes an id as it is."""
    if not isinstance(call_id, str) or not is_sound(call_id):
        return False
    if limits.max_call_id_length is not None and len(call_id) > limits.max_call_id_length:
        return False
    return limits.call_id_pattern is None or re.fullmatch(limits.call_id_pattern, call_id) is not None


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Ids to be spelled another way."""
    limits = context.limits
    if limits.call_id_pattern is None and limits.max_call_id_length is None:
        return iter(())
    taken = taken_ids(window)

    def choose(call: ToolCall) -> object:
        if call.id is None and limits.optional_call_ids:
            return None
        return call.id if is_legal(call.id, limits) else mint(call.id, memory, limits, taken)

    return rename(window, choose, "the target refuses the call's id")


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.call_id_pattern is None and limits.max_call_id_length is None:
        return None
    longest, fits = limits.max_call_id_length or 1 << 30, re.compile(limits.call_id_pattern or "(?s:.*)").fullmatch
    return lambda call_id: len(call_id) > longest or fits(call_id) is None


RULE = Rule("TOOL010", "invalid-call-id", find, {"ids": _judge})
