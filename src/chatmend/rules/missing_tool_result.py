"""A tool call that nobody answered.

Why: ``An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'``
(OpenAI); ```tool_use` ids were found without `tool_result` blocks immediately after`` (Anthropic). The process died, the
user interrupted, the history was cut.

Repair: a constant, neutral result: ``No result was recorded for this tool call.`` It claims nothing about why. Where the
target takes open calls at the very end, they stay open.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "user", "content": "mid"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "No result was recorded for this tool call."},
     {"role": "user", "content": "mid"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import no_result
from chatmend.rules.exchanges import match
from chatmend.rules.rule import Context, Rule
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls without an answer."""
    if not context.limits.pairing:
        return
    found = match(window)
    missing = [number for number in range(len(found.calls)) if number not in found.answers]
    if not missing or (context.limits.trailing_calls and window.run == len(window.messages)):
        return
    answers = {at for at, _ in found.answers.values()}
    at = next((at for at in range(window.run, len(window.messages)) if at not in answers), len(window.messages))
    if context.top_level_system:
        at = window.run
    becomes = tuple(no_result(found.calls[number]) for number in missing)
    yield Fix(at, at, becomes, "the call has no result", Effect.ADDS)


RULE = Rule("TOOL007", "missing-tool-result", Symptom.PAIRING | Symptom.TURNS, find)
