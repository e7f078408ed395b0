r"""A call of a tool that the provider runs itself without its result in the same turn, or a result without its call.

Why: ``unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_01FD. Each `advisor_tool_result` block
must have a corresponding `server_tool_use` block before it`` and `` `web_search` tool use with id `srvtoolu_1` was
found without a corresponding `web_search_tool_result` block`` (Anthropic). A client puts a message of its own between
the two, or stores a result twice.

Repair: what stands alone is told as text. A call at the very end stays, because the provider goes on with it; so does
one that only results of the caller's tools follow, because code that the provider runs may call those.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "advisor_result", "text": "b"}},
         {"type": "text", "text": "c"}]}]
After:
    [{"role": "user", "content": "a"},
     {"role": "assistant", "content": [
         {"type": "text", "text": "{\"type\": \"advisor_tool_result\", \"tool_use_id\": \"srvtoolu_1\", \"content\": {\"type\": \"advisor_result\", \"text\": \"b\"}}"},
         {"type": "text", "text": "c"}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.dialects.content import server_call, server_result
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Opaque, Role, Text, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls and results of server tools that stand alone."""
    if not context.limits.server_tools_paired:
        return
    run, pending = window.run, set(memory.server_calls)
    called = set(pending)
    alone: set[int] = set()
    for message in window.messages[:run]:
        for part in message.parts:
            if (call_id := _called(part)) is not None:
                called.add(call_id)
                pending.add(call_id)
            elif (answers := _answered(part)) is not None:
                if answers in pending:
                    pending.discard(answers)
                else:
                    alone.add(id(part))
    goes_on = window.last and run == len(window.messages)
    if not goes_on and not _is_interrupted(window, run):
        alone |= {id(part) for m in window.messages[:run] for part in m.parts if _called(part) in pending}
        pending = set()
    memory.server_calls = pending
    for at, message in enumerate(window.messages[:run]):
        parts = tuple(_told(part) if id(part) in alone else part for part in message.parts)
        if not is_unchanged(message.parts, parts):
            why = "a tool of the provider has a call without its result, or a result without its call"
            yield Fix(at, at + 1, (replace(message, parts=parts),), why, Effect.DEGRADES)


def _is_interrupted(window: Window, run: int) -> bool:
    """Whether nothing but results of the caller's tools follows: code of the provider's may be waiting for them."""
    behind = window.messages[run:]
    return bool(behind) and all(m.role is Role.USER and len(m.results) == len(m.parts) > 0 for m in behind)


def _called(part: Part) -> str | None:
    return server_call(part.extra) if isinstance(part, Opaque) else None


def _answered(part: Part) -> str | None:
    return server_result(part.extra) if isinstance(part, Opaque) else None


def _told(part: Part) -> Text:
    return Text(part.as_json)


RULE = Rule("TOOL017", "split-server-tool", find, STRUCTURE)
