"""A tool call without a result.

Why: ``An assistant message with 'tool_calls' must be followed by tool messages responding to each
'tool_call_id'`` (OpenAI); `` `tool_use` ids were found without `tool_result` blocks immediately
after`` (Anthropic). This happens when the process died, the user interrupted the agent, or the
history was truncated.

Repair: A constant, neutral result is added: ``No result was recorded for this tool call.`` It makes
no claim about the reason. If the model answered without a result, the placeholder precedes that
answer. If the target accepts calls without results at the end of the conversation, these are
unchanged. For Anthropic the result is a separate user message, so two user messages may follow
each other; Anthropic merges consecutive messages of one role, and no message that was sent changes.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "user", "content": "mid"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a",
      "content": "No result was recorded for this tool call."},
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
     {"role": "tool", "tool_call_id": "call_a",
      "content": "No result was recorded for this tool call."},
     {"role": "assistant", "content": "It is done."}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.exchanges import match
from chatmend.placeholders import CALL_NOTE, no_result
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, Text
from chatmend.turns import insert_results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Exchanges, Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for calls without a result."""
    if not context.limits.pairing:
        return
    found = match(window)
    missing = [number for number in range(len(found.calls)) if number not in found.answers]
    if not missing:
        return
    last = (
        window.is_last and window.run_length == len(window.messages) and not window.has_other_roles
    )
    if context.limits.trailing_calls and last:
        return
    answers = {at for at, _ in found.answers.values()}
    at = window.run_length
    while at < len(window.messages) and at in answers:
        at += 1
    if context.traits.results_are_parts or _has_user_results(window):
        # The results must precede any other content of the user message.
        at = window.run_length
    names_tool = context.traits.names_results or context.traits.results_by_name
    placeholders = {
        n: no_result(found.calls[n], named=names_tool)
        for n in missing
        if not found.calls[n].is_hosted
    }
    if len(placeholders) < len(missing):
        yield from _convert_hosted_calls(window, found, missing, context)
    is_ordered = context.limits.results_in_order and context.traits.results_are_parts
    if placeholders and (context.traits.joins_results or (answers and is_ordered)):
        yield from insert_results(window, found, placeholders, context)
    elif placeholders:
        yield Fix(at, at, tuple(placeholders.values()), "the call has no result", Effect.ADDS)


def _has_user_results(window: Window) -> bool:
    return any(message.role is Role.USER and message.results for message in window.messages)


def _convert_hosted_calls(
    window: Window, found: Exchanges, missing: list[int], context: Context
) -> Iterator[Fix]:
    """Yield fixes that convert calls of hosted tools to text: they cannot have a placeholder."""
    hosted = {id(found.calls[number]) for number in missing if found.calls[number].is_hosted}
    for at, message in enumerate(window.messages[: window.run_length]):
        if any(id(call) in hosted for call in message.calls):
            parts = tuple(
                Text(CALL_NOTE + part.as_json) if id(part) in hosted else part
                for part in message.parts
            )
            is_item = context.traits.messages_are_items
            becomes = Message(Role.ASSISTANT, parts) if is_item else message.with_parts(parts)
            yield Fix(at, at + 1, (becomes,), "the call has no result", Effect.DEGRADES)


RULE = Rule("TOOL007", "missing-tool-result", find, STRUCTURE)
