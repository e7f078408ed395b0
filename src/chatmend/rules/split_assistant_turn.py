"""An assistant turn that was stored as several messages, with calls in one that is not the last.

Why: results must follow the message that holds their calls; a second assistant message between them breaks the pair
(``An assistant message with 'tool_calls' must be followed by tool messages``).

Repair: the messages become one: all content in order, then all calls. A target that folds such messages itself is left
to do so, unless words follow the calls.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "one"},
     {"role": "tool", "tool_call_id": "b", "content": "two"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "one"},
     {"role": "tool", "tool_call_id": "b", "content": "two"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.merging import merge
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, ToolCall
from chatmend.windows import trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Runs of assistant messages that belong together."""
    limits, run = context.limits, window.run
    if not limits.pairing or run < 2:  # noqa: PLR2004 - a run is more than one
        return
    said = window.messages[:run]
    first = next((at for at, message in enumerate(said) if not all(call.legacy for call in message.calls)), run)
    if first >= run - 1:
        return
    if context.traits.items:
        if limits.calls_last:
            yield from _calls_last(window, said)
        return
    words_behind = any(not isinstance(part, ToolCall) for message in said[first + 1 :] for part in message.parts)
    if not limits.folds_turns or (words_behind and not context.traits.results_inside):
        merged, effect = merge(said[first:], context.traits)
        yield Fix(first, run, (merged,), "calls stand before another message of the same turn", effect)


def _calls_last(window: Window, said: list[Message]) -> Iterator[Fix]:
    """Entries of their own are not merged: the calls move behind the words."""
    ordered = [*(m for m in said if not m.calls), *(m for m in said if m.calls)]
    yield from trimmed(window, (*ordered, *window.messages[len(said) :]), "words stand behind calls of the same turn")


RULE = Rule("TURN001", "split-assistant-turn", find, STRUCTURE)
