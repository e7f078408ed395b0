"""An assistant turn stored as several messages, with tool calls in one that is not the last.

Why: Results must directly follow the message with their calls. A second assistant message between
them separates the pair (``An assistant message with 'tool_calls' must be followed by tool
messages``). Claude from 4.6 on takes a message with calls that ends with a text for a prefill.
Claude also separates a call from its result if blocks of a hosted tool follow it in its message
(``tool_use ids were found without tool_result blocks immediately after``).

Repair: The messages are merged: all content in order, then all calls. If the target merges such
messages itself, they are unchanged, unless other content follows the calls. A text at the end of a
message with calls moves before them where the target refuses it, and so do finished calls of hosted
tools.

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

from chatmend.call_order import (
    ends_with_text,
    has_call_before_hosted_tool,
    has_content_behind_calls,
    is_own_call,
)
from chatmend.changes import Effect, Fix
from chatmend.emptiness import separate_thinking
from chatmend.merging import merge
from chatmend.notes import unknown_keys
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Text, Thinking, ToolCall
from chatmend.windows import minimal_fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that merge the assistant messages of one turn."""
    limits = context.limits
    if not limits.pairing:
        return
    run_messages = window.messages[: window.run_length]
    fix = _move_texts_before_calls(run_messages, context)
    if fix is not None:
        yield fix
        return
    merged = [*_merge_turn(window, run_messages, context)]
    yield from merged
    if limits.calls_end_message and context.traits.results_are_parts and not merged:
        fix = _move_calls_behind_text(run_messages, context.traits)
        yield from _move_last_texts(run_messages) if fix is None else (fix,)


def find_words(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield the same fix for texts that were under another key, such as a refusal, until now.

    What the policy does not allow is reported already.
    """
    if not context.limits.pairing:
        return
    fix = _move_texts_before_calls(window.messages[: window.run_length], context)
    if fix is not None and fix.effect <= context.policy.allow:
        yield fix


def _merge_turn(window: Window, run_messages: list[Message], context: Context) -> Iterator[Fix]:
    """Yield a fix that merges the messages from the first call on, with the calls at the end."""
    first = next(
        (
            at
            for at, message in enumerate(run_messages)
            if not all(call.legacy for call in message.calls)
        ),
        len(run_messages),
    )
    if first >= len(run_messages) - 1:
        return
    limits = context.limits
    if context.traits.messages_are_items:
        if limits.calls_last:
            yield from _move_calls_last(window, run_messages)
        return
    content_follows_calls = any(
        not isinstance(part, ToolCall)
        for message in run_messages[first + 1 :]
        for part in message.parts
    )
    if not limits.folds_turns or (content_follows_calls and not context.traits.results_are_parts):
        merged, effect = merge(run_messages[first:], context.traits)
        why = "another assistant message follows the calls of the same turn"
        yield Fix(first, len(run_messages), (merged,), why, effect)


def _move_texts_before_calls(run_messages: list[Message], context: Context) -> Fix | None:
    """Return a fix that moves texts and thinking after the first call of a run before it.

    None if no text is after a call and no thinking after the last one: a model may think between
    its calls. A text will separate adjacent thinking where the target refuses it.
    """
    if not (context.limits.calls_last and context.traits.results_are_parts):
        return None
    first = next((at for at, message in enumerate(run_messages) if message.calls), None)
    if first is None:
        return None
    turn = run_messages[first:]
    parts = [part for message in turn for part in message.parts]
    following: Sequence[Part] = parts[_first_call(parts) :]
    if not context.limits.adjacent_thinking:
        following, _ = separate_thinking(following, context)
    if not has_content_behind_calls(following):
        return None
    merged, effect = merge(turn, context.traits) if len(turn) > 1 else (turn[0], Effect.RESHAPES)
    call = _first_call(merged.parts)
    ordered = sorted(merged.parts[call:], key=lambda part: not isinstance(part, Text | Thinking))
    becomes = merged.with_parts((*merged.parts[:call], *ordered))
    why = "the target accepts no text between calls and their results"
    return Fix(first, len(run_messages), (becomes,), why, effect)


def _first_call(parts: Sequence[Part]) -> int:
    """Return the position of the first call."""
    return next(at for at, part in enumerate(parts) if isinstance(part, ToolCall))


def _move_last_texts(run_messages: list[Message]) -> Iterator[Fix]:
    """Yield fixes for messages with calls that end with a text: it moves before the first call."""
    for at, message in enumerate(run_messages):
        if ends_with_text(message.parts):
            calls = [n for n, part in enumerate(message.parts) if isinstance(part, ToolCall)]
            following = message.parts[calls[-1] + 1 :]
            # Thinking stays before the text that follows it.
            moved = tuple(part for part in following if isinstance(part, Text | Thinking))
            others = tuple(part for part in following if not isinstance(part, Text | Thinking))
            between = message.parts[calls[0] : calls[-1] + 1]
            parts = (*message.parts[: calls[0]], *moved, *between, *others)
            why = "the target accepts no text at the end of a message with calls"
            yield Fix(at, at + 1, (message.with_parts(parts),), why)


def _move_calls_behind_text(run_messages: list[Message], traits: Traits) -> Fix | None:
    """Return a fix for a turn that ends with a text or with thinking, although it has calls.

    The provider merges the messages, so the calls move to the end of the last one, and thinking
    stays before the text that follows it. None if the turn ends with a call, or if its only text
    after the calls is in the message with the calls. Empty messages do not count; other rules
    remove them.
    """
    calls = [
        (at, part)
        for at, message in enumerate(run_messages)
        for part in message.parts
        if isinstance(part, ToolCall) and not part.is_hosted
    ]
    if not calls:
        return None
    first, end = calls[0][0], max(at for at, message in enumerate(run_messages) if message.parts)
    last_part = run_messages[end].parts[-1]
    ends_with_own_text = isinstance(last_part, Text) and run_messages[end].calls
    if not isinstance(last_part, Text | Thinking) or ends_with_own_text:
        return None
    moved = tuple(part for _, part in calls)
    is_moved = {id(part) for part in moved}  # by identity, because two calls may be equal
    turn = run_messages[first : end + 1]
    kept = [
        message.with_parts(tuple(part for part in message.parts if id(part) not in is_moved))
        for message in turn
    ]
    kept[-1] = kept[-1].with_parts((*kept[-1].parts, *moved))
    becomes = tuple(
        after
        for before, after in zip(turn, kept, strict=True)
        if after.parts or not before.parts or unknown_keys(before, traits)
    )
    why = "the target accepts no text at the end of a turn with calls"
    return Fix(first, end + 1, becomes, why)


def _move_calls_last(window: Window, run_messages: list[Message]) -> Iterator[Fix]:
    """Yield a fix that moves the items of calls after the other items; items are never merged."""
    ordered = [*(m for m in run_messages if not m.calls), *(m for m in run_messages if m.calls)]
    yield from minimal_fix(
        window,
        (*ordered, *window.messages[len(run_messages) :]),
        "other content follows the calls of the same turn",
    )


def find_before_hosted_tools(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move calls behind the finished calls of hosted tools in their message."""
    if not (context.limits.server_tools_paired and context.traits.results_are_parts):
        return
    for at, message in enumerate(window.messages[: window.run_length]):
        if has_call_before_hosted_tool(message.parts):
            ordered = sorted(message.parts, key=is_own_call)
            why = "the blocks of a hosted tool follow a call in the same message"
            yield Fix(at, at + 1, (message.with_parts(tuple(ordered)),), why)


RULE = Rule("TURN001", "split-assistant-turn", find, STRUCTURE)
WORDS = Rule("TURN001", "split-assistant-turn", find_words, STRUCTURE)
HOSTED = Rule("TURN001", "split-assistant-turn", find_before_hosted_tools, STRUCTURE)
