"""A tool call that nobody answered.

Why: ``An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'``
(OpenAI); `` `tool_use` ids were found without `tool_result` blocks immediately after`` (Anthropic). The process died, the
user interrupted, the history was cut.

Repair: a constant, neutral result: ``No result was recorded for this tool call.`` It claims nothing about why. It stands
before an answer that the model gave without a result. Where the target takes open calls at the very end, they stay open.

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

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "assistant", "content": "It is done."}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "No result was recorded for this tool call."},
     {"role": "assistant", "content": "It is done."}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.exchanges import match
from chatmend.placeholders import CALL_NOTE, no_result
from chatmend.rules.late_tool_result import arranged
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Exchanges, Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls without an answer."""
    if not context.limits.pairing:
        return
    found = match(window)
    missing = [number for number in range(len(found.calls)) if number not in found.answers]
    last = window.last and window.run == len(window.messages) and not window.followed
    if not missing or (context.limits.trailing_calls and last):
        return
    answers = {at for at, _ in found.answers.values()}
    at = next((at for at in range(window.run, len(window.messages)) if at not in answers), len(window.messages))
    beside = any(message.role is Role.USER and message.results for message in window.messages)
    if context.traits.results_inside or beside:
        at = window.run  # in front of whatever a user's message says beside its results
    named = context.traits.names_results
    invented = {n: no_result(found.calls[n], named=named) for n in missing if not found.calls[n].is_hosted}
    yield from _told(window, found, missing)
    if invented and answers and context.limits.results_in_order and context.traits.results_inside:
        yield from arranged(window, found, invented, "the call has no result")
    elif invented:
        yield Fix(at, at, tuple(invented.values()), "the call has no result", Effect.ADDS)


def _told(window: Window, found: Exchanges, missing: list[int]) -> Iterator[Fix]:
    """Calls of tools that the provider defines: what these answer nobody can say in words, so the call is told."""
    hosted = {id(found.calls[number]) for number in missing if found.calls[number].is_hosted}
    for at, message in enumerate(window.messages[: window.run]):
        if any(id(call) in hosted for call in message.calls):
            words = CALL_NOTE + message.as_json
            told = Message(Role.ASSISTANT, (Text(words),))
            yield Fix(at, at + 1, (told,), "the call has no result", Effect.DEGRADES)


RULE = Rule("TOOL007", "missing-tool-result", find, STRUCTURE)
