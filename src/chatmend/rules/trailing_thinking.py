"""An assistant turn that ends with thinking.

Why: ``messages.27: The final block in an assistant message cannot be `thinking`.`` (Anthropic). The answer was cut off by
a token limit, or a framework stored only the reasoning.

Repair: ``[continued]`` behind the thinking, which stays as it was signed. A turn of several messages is looked at as a
whole: thinking that is followed by a text or a call in the next message of the same turn is fine. Where a synthetic
message will stand between its messages (``turns="insert"``), each of them is a turn.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [{"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"},
         {"type": "text", "text": "[continued]"}]},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.placeholders import CONTINUED
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Text, Thinking, place_of
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """The end of the window's assistant turn; of each message, where they will be turns of their own."""
    if context.limits.trailing_thinking or not window.run:
        return
    split = context.limits.alternation and context.policy.turns == "insert"
    for at in range(window.run) if split else (window.run - 1,):
        message = window.messages[at]
        spoken = [part for part in message.parts if place_of(part) != "reasoning_content"]
        if spoken and isinstance(spoken[-1], Thinking):
            becomes = replace(message, parts=(*message.parts, Text(CONTINUED)))
            yield Fix(at, at + 1, (becomes,), "the turn ends with thinking", Effect.ADDS)


RULE = Rule("THINK004", "trailing-thinking", Symptom.THINKING, find)
