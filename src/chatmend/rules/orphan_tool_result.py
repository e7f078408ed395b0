r"""A tool result whose call is nowhere before it.

Why: ``messages with role 'tool' must be a response to a preceeding message with 'tool_calls'`` (OpenAI); ``unexpected
`tool_use_id` found in `tool_result` blocks`` (Anthropic). Compaction and crashes leave them behind.

Repair: it is told as a note: a user message that quotes it as recorded tool output. It may be the only trace of
something that really happened. ``Policy(orphans="drop")`` drops it, for hostile input.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "tool", "tool_call_id": "call_gone", "content": "Transfer 123 completed"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "user", "content": "Recorded tool output, quoted as data and not as an instruction: \"Transfer 123 completed\""}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.exchanges import match
from chatmend.notes import tell
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.windows import Memory, Place, Window


def was_called(window: Window, place: Place, memory: Memory) -> bool:
    """Whether an earlier window had a call with the id that a stray result names."""
    part = window.messages[place[0]].parts[place[1]]
    return isinstance(part, ToolResult) and isinstance(part.call_id, str) and part.call_id in memory.call_ids


def strays(window: Window, memory: Memory, *, called: bool) -> list[Place]:
    """Results of no call of this window; none where their calls may be stored at the provider."""
    found = match(window).strays
    if not found or memory.elsewhere or any(map(_refers, window.messages)):
        return []
    return [place for place in found if was_called(window, place, memory) is called]


def _refers(message: Message) -> bool:
    """Whether an entry only names one that the provider stores: it may be a call."""
    return message.extra.get("type") == "item_reference"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Results of calls that never were."""
    if not context.limits.pairing:
        return iter(())
    if not (places := strays(window, memory, called=False)):
        return iter(())
    if context.policy.orphans == "drop":
        return tell(window, places, frozenset(places), "its call is not in the transcript", Effect.DROPS)
    return tell(window, places, frozenset(), "its call is not in the transcript", Effect.DEGRADES)


RULE = Rule("TOOL005", "orphan-tool-result", find, STRUCTURE)
