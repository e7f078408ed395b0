r"""A list of parts where the target takes plain text only.

Why: ``'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.content' : value must be a string)]``
(Groq); chat templates that join strings.

Repair: texts are joined with a blank line between; a list with anything else than text in it is left.

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

from chatmend.changes import Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Text, ToolCall, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Lists of nothing but text."""
    for at, message in enumerate(window.messages):
        native = message.extra
        legacy = message.spelling == "function" and context.limits.roles is not None
        if not (legacy or message.role in context.limits.text_content) or not message.is_object:
            continue
        if context.traits.results_inside or not isinstance(native.get("content"), list):
            continue
        becomes = _plain(message)
        if becomes is not message:
            yield Fix(at, at + 1, (becomes,), "the target takes plain text here")


def _plain(message: Message) -> Message:
    native = {k: v for k, v in message.extra.items() if k != "content"} if message.is_object else None
    if message.results:
        (result,) = message.results
        content = _joined(result.content)
        return (
            message if content is None else replace(message, parts=(replace(result, content=content),), native=native)
        )
    spoken = tuple(part for part in message.parts if _is_spoken(part))
    content = _joined(spoken)
    if content is None:
        return message
    rest = [part for part in message.parts if not _is_spoken(part)]
    return replace(message, parts=(*content, *rest), native=native)


def _is_spoken(part: Part) -> bool:
    return place_of(part) == "content" and not isinstance(part, ToolCall)


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
    if not all(isinstance(part, Text) for part in parts):
        return None
    return (Text("\n\n".join(part.text for part in parts if isinstance(part, Text) and part.text)),)


RULE = Rule("TEXT003", "listed-content", find, STRUCTURE)
