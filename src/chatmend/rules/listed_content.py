r"""A list of content parts where the target accepts only a string.

Why: ``'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.content' : value
must be a string)]`` (Groq); chat templates that concatenate strings.

Repair: The texts are joined, separated by a blank line. A list that holds other parts is unchanged.
Other texts in these blocks, such as citations, are reported as dropped.

Before (groq/llama-3.3-70b-versatile):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": [
         {"type": "text", "text": "a"},
         {"type": "text", "text": "b"}]}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "a\n\nb"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.emptiness import is_item
from chatmend.merging import text_of
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Text, ToolCall, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for lists that hold only text."""
    for at, message in enumerate(window.messages):
        native = message.extra
        legacy = message.native_role == "function" and context.limits.roles is not None
        if not (legacy or message.role in context.limits.text_content) or not message.is_object:
            continue
        if context.traits.results_are_parts or not isinstance(native.get("content"), list):
            continue
        if is_item(message, context):
            continue
        becomes = _with_string_content(message)
        if becomes is not message:
            why = "the target requires a string as content"
            effect = Effect.DROPS if message.has_other_text_keys else Effect.RESHAPES
            yield Fix(at, at + 1, (becomes,), why, effect)


def _with_string_content(message: Message) -> Message:
    native = (
        {k: v for k, v in message.extra.items() if k != "content"} if message.is_object else None
    )
    if message.results:
        (result,) = message.results
        text = text_of(result.content)
        return (
            message
            if text is None
            else replace(message, parts=(replace(result, content=(Text(text),)),), native=native)
        )
    text = text_of([part for part in message.parts if _is_content(part)])
    if text is None:
        return message
    rest = [part for part in message.parts if not _is_content(part)]
    return replace(message, parts=(Text(text), *rest), native=native)


def _is_content(part: Part) -> bool:
    return location_of(part) == "content" and not isinstance(part, ToolCall)


RULE = Rule("TEXT003", "listed-content", find, STRUCTURE)
