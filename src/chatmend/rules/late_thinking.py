"""Thinking behind other content of its message.

Why: ``ThinkChunks must be leading: all ThinkChunks must appear before any other content chunk.``
(Mistral). A stream of a Magistral model begins with an empty text, which some frameworks store
before the thinking; others merge two answers into one message.

Repair: The thinking moves to the beginning of its message, in its order. Empty texts before it are
removed.

Before (mistral/magistral-medium-latest):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "text", "text": ""},
         {"type": "thinking", "thinking": [{"type": "text", "text": "Plan."}]},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": [
         {"type": "thinking", "thinking": [{"type": "text", "text": "Plan."}]},
         {"type": "text", "text": "Done."}]},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.dialects.thinking import is_thinking
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import is_blank_part, is_unchanged, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window

_LIMIT = "thinking_leads"
_WHY = "the target accepts thinking only before other content"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move thinking to the beginning of its message."""
    if not context.limits.of(_LIMIT):
        return
    for at, message in enumerate(window.messages[: window.run_length]):
        parts = _with_leading_thinking(message.parts)
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _WHY)


def _with_leading_thinking(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with the thinking first; the same parts if nothing is before it."""
    thinking = [part for part in parts if _is_block_of_thinking(part)]
    last = max((at for at, part in enumerate(parts) if _is_block_of_thinking(part)), default=-1)
    if last == len(thinking) - 1:
        return parts
    before = [part for part in parts[:last] if not _is_block_of_thinking(part)]
    sent = [part for part in before if not is_blank_part(part, whitespace=False)]
    return (*thinking, *sent, *parts[last + 1 :])


def _is_block_of_thinking(part: Part) -> bool:
    return location_of(part) == "content" and is_thinking(part.extra)


RULE = Rule("THINK009", "late-thinking", find, STRUCTURE, own_limits={_LIMIT: bool})
