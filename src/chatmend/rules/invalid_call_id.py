"""A call id whose characters or length the target refuses.

Why: ``messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'``
(Anthropic); ``string too long. Expected a string with maximum length 40`` (OpenAI); ``Tool call id
was call_abc but must be a-z, A-Z, 0-9, with a length of 9.`` (Mistral).

Repair: The call gets a new id, made from the legal characters of the old one and a hash of it, so
that two ids never become one. Its results get the same new id. The new id depends on the old id and
on earlier ones, never on later ones. Legal ids are unchanged.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "functions.bash:0", "type": "function",
          "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "functions.bash:0", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "functions_bash_0_0CskT9pA", "type": "function",
          "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "functions_bash_0_0CskT9pA", "content": "done"}]

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_0123456789012345678901234567890123456789", "type": "function",
          "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_0123456789012345678901234567890123456789",
      "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_01234567890123456789012345_u1U3ZjOV", "type": "function",
          "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_01234567890123456789012345_u1U3ZjOV",
      "content": "done"}]
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from chatmend.jsontext import is_encodable
from chatmend.naming import call_ids_of, new_call_id, rename_calls
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


_WHY = "the target refuses the call id"


def is_legal(call_id: object, limits: Limits) -> bool:
    """Return whether the target accepts an id."""
    if not isinstance(call_id, str) or not is_encodable(call_id):
        return False
    if limits.max_call_id_length is not None and len(call_id) > limits.max_call_id_length:
        return False
    return (
        limits.call_id_pattern is None or re.fullmatch(limits.call_id_pattern, call_id) is not None
    )


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that replace call ids which the target refuses."""
    limits = context.limits
    if limits.call_id_pattern is None and limits.max_call_id_length is None:
        return iter(())
    taken = call_ids_of(window)

    def choose(call: ToolCall) -> object:
        if call.id is None and limits.optional_call_ids:
            return None
        return rename(call.id, memory, limits, taken)

    return rename_calls(window, choose, _WHY)


def rename(call_id: object, memory: Memory, limits: Limits, taken: set[str]) -> object:
    """Return the id, or a new one if the target refuses it."""
    return call_id if is_legal(call_id, limits) else new_call_id(call_id, memory, limits, taken)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.call_id_pattern is None and limits.max_call_id_length is None:
        return None
    max_length, fullmatch_id = (
        limits.max_call_id_length or sys.maxsize,
        re.compile(limits.call_id_pattern or "(?s:.*)").fullmatch,
    )
    return lambda call_id: len(call_id) > max_length or fullmatch_id(call_id) is None


RULE = Rule("TOOL010", "invalid-call-id", find, {"ids": _judge}, rename=rename, why=_WHY)
