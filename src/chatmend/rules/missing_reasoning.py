"""A message of the model without ``reasoning_content``, for a model that requires it.

Most models require it in messages with tool calls; DeepSeek's, in a request with tools, in all.
DeepSeek's Anthropic-compatible API requires a thinking block in messages with tool calls.

Why: ``The `reasoning_content` in the thinking mode must be passed back to the API.`` (DeepSeek);
``The `content[].thinking` in the thinking mode must be passed back to the API.`` (its
Anthropic-compatible API); ``thinking is enabled but reasoning_content is missing in assistant tool
call message at index 1`` (Kimi).

A request that disables thinking with ``{"type": "disabled"}`` needs none.

Repair: A single space is added as ``reasoning_content``, or a thinking block that contains it. The
original reasoning is lost, and chatmend invents none.

Before (moonshot/kimi-k2-thinking):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "reasoning_content": " ", "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import NO_REASONING
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Message, Part
    from chatmend.windows import Memory, Window


_WHYS = {
    "required": "the target requires reasoning_content with tool calls",
    "always": "the target requires reasoning_content in a request with tools",
    "block": "the target requires a thinking block with tool calls",
}


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages that need reasoning and have none."""
    limits = context.limits
    needed: str = limits.reasoning_content
    if not context.traits.typed_calls:
        accepts_blank = limits.thinking_with_calls and limits.thinking == "any"
        needed = "block" if accepts_blank else "any"
    if needed not in _WHYS:
        return
    location = "content" if needed == "block" else "reasoning_content"
    for at, message in enumerate(window.messages):
        if _is_concerned(message, needed) and not _has_reasoning(message, location, context):
            blank = Thinking(NO_REASONING, location=location)
            others = tuple(part for part in message.parts if not _is_blank(part, location))
            becomes = message.with_parts((blank, *others))
            yield Fix(at, at + 1, (becomes,), _WHYS[needed], Effect.ADDS)


def _is_concerned(message: Message, needed: str) -> bool:
    if not message.is_assistant:
        return False
    # A prefix is the beginning of the answer, which the model has not thought about yet.
    return bool(message.calls) or (needed == "always" and not message.extra.get("prefix"))


def _has_reasoning(message: Message, location: str, context: Context) -> bool:
    is_written = any(
        isinstance(part, Thinking) and part.location == location and part.text
        for part in message.parts
    )
    return is_written or _has_other_reasoning(message, context)


def _is_blank(part: Part, location: str) -> bool:
    """Return whether a part is thinking in which nothing is written, not even encrypted."""
    if not isinstance(part, Thinking) or part.location != location:
        return False
    return not (part.text or part.signature or part.redacted)


def _has_other_reasoning(message: Message, context: Context) -> bool:
    """Return whether a message has reasoning under a key that the host may read as well."""
    native = message.extra
    return context.limits.reasoning_key == "any" and bool(
        native.get("reasoning") or native.get("reasoning_details")
    )


RULE = Rule("THINK002", "missing-reasoning", find, STRUCTURE)
