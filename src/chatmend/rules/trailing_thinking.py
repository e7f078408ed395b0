"""Thinking at the end of an assistant turn, or directly before other thinking.

Why: ``messages.27: The final block in an assistant message cannot be `thinking`.`` (Anthropic). The
answer was cut off by a token limit, or a framework stored only the reasoning. Two adjacent thinking
blocks, which remain if a text between them is dropped, are refused in the latest answer: ``thinking
blocks in the latest assistant message cannot be modified``.

Repair: ``[continued]`` is added after the thinking, which stays unchanged and signed. A turn of
several messages is checked as a whole: thinking is accepted if a text or a call follows it in the
next message of the same turn. If a placeholder will separate the messages (``turns="insert"``),
each of them is checked as a turn. In chat messages for Claude, a text of white space does not
count, because LiteLLM's conversion drops it.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "Plan.", "signature": "EqQBCkYIAhgCKkAx"},
         {"type": "text", "text": "[continued]"}]},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.emptiness import is_dropped, separate_thinking
from chatmend.placeholders import CONTINUED
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Text, Thinking, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_ENDS = "the turn ends with thinking"
_ADJACENT = "thinking is directly before other thinking"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for thinking at the end of the assistant turn and for adjacent thinking."""
    limits, last = context.limits, window.run_length - 1
    if limits.trailing_thinking and limits.adjacent_thinking:
        return
    turns_are_split = limits.alternation and context.policy.turns == "insert"
    after_thinking = False
    for at, message in enumerate(window.messages[: window.run_length]):
        parts, ends = message.parts, turns_are_split or at == last
        if not limits.adjacent_thinking:
            parts, after_thinking = separate_thinking(
                parts, context, after_thinking=after_thinking and not turns_are_split
            )
        content_parts = [
            part
            for part in parts
            if location_of(part) != "reasoning_content" and not is_dropped(part, context)
        ]
        if (
            ends
            and not limits.trailing_thinking
            and content_parts
            and isinstance(content_parts[-1], Thinking)
        ):
            yield Fix(
                at, at + 1, (message.with_parts((*parts, Text(CONTINUED))),), _ENDS, Effect.ADDS
            )
        elif len(parts) > len(message.parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _ADJACENT, Effect.ADDS)


RULE = Rule("THINK004", "trailing-thinking", find, STRUCTURE)
