"""Thinking behind other content of its message.

Why: ``ThinkChunks must be leading: all ThinkChunks must appear before any other content chunk.``
(Mistral). A stream of a Magistral model begins with an empty text, which some frameworks store
before the thinking; others merge two answers into one message. ``If an assistant message contains
any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `text`.``
(Claude 4.5 and earlier, Anthropic and Bedrock): clients that store text and thinking apart put the
thinking after the text or the calls.

Repair: The thinking moves to the beginning of its message, in its order. Empty texts before it are
removed. For Claude, only the first thinking moves, and only after a refusal (`react`): some models
begin with a text and think after it, and the API compares the order of the latest thinking with
that of its answer. A tool loop that must begin with thinking is repaired by THINK008.

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
from chatmend.transcript import Thinking, is_blank_part, is_unchanged, location_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window

_LIMIT = "thinking_leads"
_BEGINS = "thinking_begins"
_WHY = "the target accepts thinking only before other content"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move thinking to the beginning of its message."""
    if context.limits.of(_LIMIT):
        move = _with_leading_thinking
    elif context.limits.of(_BEGINS):
        move = _begin_with_thinking
    else:
        return
    for at, message in enumerate(window.messages):
        parts = move(message.parts) if message.is_assistant else message.parts
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


def _begin_with_thinking(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with the first thinking at the beginning, with thinking directly after it.

    Later thinking stays where it is: Claude thinks between the tools that the provider runs.
    """
    blocks = [at for at, part in enumerate(parts) if location_of(part) == "content"]
    thoughts = [at for at in blocks if isinstance(parts[at], Thinking)]
    if not thoughts or thoughts[0] == blocks[0]:
        return parts
    start = stop = thoughts[0]
    while stop in thoughts:
        stop += 1
    first = blocks[0]
    return (*parts[:first], *parts[start:stop], *parts[first:start], *parts[stop:])


def _is_block_of_thinking(part: Part) -> bool:
    return location_of(part) == "content" and is_thinking(part.extra)


RULE = Rule("THINK009", "late-thinking", find, STRUCTURE, own_limits={_LIMIT: bool, _BEGINS: bool})
