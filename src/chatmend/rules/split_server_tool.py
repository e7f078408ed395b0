"""A call of a hosted tool without its result in the same turn, or a result without its call.

Why: ``unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_01FD. Each
`advisor_tool_result` block must have a corresponding `server_tool_use` block before it`` and
`` `web_search` tool use with id `srvtoolu_1` was found without a corresponding
`web_search_tool_result` block`` (Anthropic). This happens when a client inserts a message between
the two, or stores a result twice.

Repair: The block without its counterpart is converted to text. A call at the very end is unchanged,
because the provider continues from it. So is a call that only results of the caller's tools follow,
because code that the provider runs may have called these tools.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1",
          "content": {"type": "advisor_result", "text": "b"}},
         {"type": "text", "text": "c"}]}]
After:
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "text",
          "text": "{\\"type\\": \\"advisor_tool_result\\", \\"tool_use_id\\": \\"srvtoolu_1\\", \
\\"content\\": {\\"type\\": \\"advisor_result\\", \\"text\\": \\"b\\"}}"},
         {"type": "text", "text": "c"}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.content import server_call_id, server_result_id
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Opaque, Role, Text, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert unpaired calls and results of hosted tools to text."""
    if not context.limits.server_tools_paired:
        return
    run, pending = window.run_length, set(memory.server_calls)
    called = set(pending)
    unpaired: set[int] = set()
    for message in window.messages[:run]:
        for part in message.parts:
            if (call_id := _call_id(part)) is not None:
                called.add(call_id)
                pending.add(call_id)
            elif (answered_id := _result_call_id(part)) is not None:
                if answered_id in pending:
                    pending.discard(answered_id)
                else:
                    unpaired.add(id(part))
    is_continued = window.is_last and run == len(window.messages)
    if not is_continued and not _is_interrupted(window, run):
        unpaired |= {
            id(part) for m in window.messages[:run] for part in m.parts if _call_id(part) in pending
        }
        pending = set()
    memory.server_calls = pending
    for at, message in enumerate(window.messages[:run]):
        parts = tuple(_as_text(part) if id(part) in unpaired else part for part in message.parts)
        if not is_unchanged(message.parts, parts):
            why = "a hosted tool has a call without its result, or a result without its call"
            yield Fix(at, at + 1, (message.with_parts(parts),), why, Effect.DEGRADES)


def _is_interrupted(window: Window, run: int) -> bool:
    """Return whether only results of the caller's tools follow.

    Code that the provider runs may be waiting for these results.
    """
    following = window.messages[run:]
    return bool(following) and all(
        m.role is Role.USER and len(m.results) == len(m.parts) > 0 for m in following
    )


def _call_id(part: Part) -> str | None:
    return server_call_id(part.extra) if isinstance(part, Opaque) else None


def _result_call_id(part: Part) -> str | None:
    return server_result_id(part.extra) if isinstance(part, Opaque) else None


def _as_text(part: Part) -> Text:
    return Text(part.as_json)


RULE = Rule("TOOL017", "split-server-tool", find, STRUCTURE)
