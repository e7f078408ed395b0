"""A message of the model without ``reasoning_content``, for a model that requires it.

Most models require it in messages with tool calls; DeepSeek's, in a request with tools, in all.

Why: ``The `reasoning_content` in the thinking mode must be passed back to the API.`` (DeepSeek);
``thinking is enabled but reasoning_content is missing in assistant tool call message at index 1``
(Kimi).

Repair: A single space is added as ``reasoning_content``. The original reasoning is lost, and
chatmend invents none.

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
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window


_WHYS = {
    "required": "the target requires reasoning_content with tool calls",
    "always": "the target requires reasoning_content in a request with tools",
}


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages that need reasoning and have none."""
    mode = context.limits.reasoning_content
    if mode not in ("required", "always") or not context.traits.typed_calls:
        return
    for at, message in enumerate(window.messages):
        has_reasoning = _has_other_reasoning(message, context) or any(
            isinstance(p, Thinking) and p.location == "reasoning_content" and p.text
            for p in message.parts
        )
        is_needed = message.is_assistant and (mode == "always" or bool(message.calls))
        if is_needed and not has_reasoning:
            blank = Thinking(NO_REASONING, location="reasoning_content")
            others = tuple(
                p
                for p in message.parts
                if not isinstance(p, Thinking) or p.location != "reasoning_content"
            )
            becomes = message.with_parts((blank, *others))
            yield Fix(
                at,
                at + 1,
                (becomes,),
                _WHYS[mode],
                Effect.ADDS,
            )


def _has_other_reasoning(message: Message, context: Context) -> bool:
    """Return whether a message has reasoning under a key that the host may read as well."""
    native = message.extra
    return context.limits.reasoning_key == "any" and bool(
        native.get("reasoning") or native.get("reasoning_details")
    )


RULE = Rule("THINK002", "missing-reasoning", find, STRUCTURE)
