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
from chatmend.rules.naming import find_renamed, mint
from chatmend.rules.rule import Choose, Context, Renaming, Rule
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.targets import Limits


def is_legal(call_id: object, limits: Limits) -> bool:
    """Whether the target takes an id as it is."""
    if not isinstance(call_id, str) or not is_sound(call_id):
        return False
    if limits.max_call_id_length is not None and len(call_id) > limits.max_call_id_length:
        return False
    return limits.call_id_pattern is None or re.fullmatch(limits.call_id_pattern, call_id) is not None


def chooser(taken: set[str], memory: Memory, context: Context) -> Choose | None:
    """Spells ids that the target refuses another way."""
    limits = context.limits
    if limits.call_id_pattern is None and limits.max_call_id_length is None:
        return None

    def choose(call_id: object) -> object:
        if call_id is None and limits.optional_call_ids:
            return None
        return call_id if is_legal(call_id, limits) else mint(call_id, memory, limits, taken)

    return choose


RENAMING = Renaming("the target refuses the call's id", chooser)


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Ids to be spelled another way."""
    return find_renamed(window, memory, context, RENAMING)


RULE = Rule("TOOL010", "invalid-call-id", Symptom.IDS, find, RENAMING)
