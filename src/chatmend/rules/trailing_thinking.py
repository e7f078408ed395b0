"""Thinking with nothing behind it: at the end of an assistant turn, or right before other thinking.

Why: ``messages.27: The final block in an assistant message cannot be `thinking`.`` (Anthropic). The answer was cut off by
a token limit, or a framework stored only the reasoning. Two thinking blocks side by side, as they are left when a text
between them is dropped, are refused in the latest answer: ``thinking blocks in the latest assistant message cannot be
modified``.

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
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Part, Text, Thinking, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_ENDS = "the turn ends with thinking"
_ADJACENT = "thinking stands right before other thinking"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """The ends of the window's assistant turn (of each message, where they will be turns), and thinking side by side."""
    limits, last = context.limits, window.run - 1
    if limits.trailing_thinking and limits.adjacent_thinking:
        return
    split = limits.alternation and context.policy.turns == "insert"
    thought = False
    for at, message in enumerate(window.messages[: window.run]):
        parts, ends = message.parts, split or at == last
        if not limits.adjacent_thinking:
            parts, thought = _apart(parts, after_thinking=thought and not split)
        spoken = [part for part in parts if place_of(part) != "reasoning_content"]
        if ends and not limits.trailing_thinking and spoken and isinstance(spoken[-1], Thinking):
            yield Fix(at, at + 1, (replace(message, parts=(*parts, Text(CONTINUED))),), _ENDS, Effect.ADDS)
        elif len(parts) > len(message.parts):
            yield Fix(at, at + 1, (replace(message, parts=parts),), _ADJACENT, Effect.ADDS)


def _apart(parts: tuple[Part, ...], *, after_thinking: bool) -> tuple[tuple[Part, ...], bool]:
    """The parts with something between thinking and thinking, and whether thinking is the last of them."""
    out: list[Part] = []
    for part in parts:
        if place_of(part) != "content":
            out.append(part)
            continue
        thinks = isinstance(part, Thinking) and not part.redacted
        if thinks and after_thinking:
            out.append(Text(CONTINUED))
        out.append(part)
        after_thinking = thinks
    return tuple(out), after_thinking


RULE = Rule("THINK004", "trailing-thinking", find, STRUCTURE)
