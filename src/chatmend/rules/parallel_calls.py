"""More calls in a message than the target accepts, or equal calls that would be merged.

Why: ``This model only supports single tool-calls at once!`` (Llama 3.x chat templates); ``Invalid
'messages[1].tool_calls': array too long. Expected an array with maximum length 128, but got an
array with length 131 instead.`` (OpenAI); ``Please
ensure that the number of function response parts is equal to the number of function call parts of
the function call turn`` (Gemini before 3 through LiteLLM, which merges equal calls but sends the
results of both).

Repair: Each call, or as many calls as the target accepts, or each run of distinct calls, gets a
separate message, followed by its results.

Before (hosted_vllm/meta-llama/Llama-3.1-8B-Instruct):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "one"},
     {"role": "tool", "tool_call_id": "b", "content": "two"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "a", "content": "one"},
     {"role": "assistant", "content": "", "tool_calls": [
         {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "b", "content": "two"}]
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Fix
from chatmend.exchanges import match
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that split messages with more calls than the target accepts."""
    most = context.limits.max_calls_per_message
    if most and any(len(message.calls) > most for message in window.messages[: window.run_length]):
        steps = [
            [calls[at : at + most] for at in range(0, len(calls), most)] or [[]]
            for calls in (message.calls for message in window.messages[: window.run_length])
        ]
        accepted = "only one call" if most == 1 else f"at most {most} calls"
        own = _keys_of_new_message("", context)
        yield from _split_calls(window, steps, f"the target accepts {accepted} per message", own)


def find_equal(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that separate equal calls of a message."""
    if not context.limits.equal_calls:
        steps = [
            list(_split_into_distinct(message.calls))
            for message in window.messages[: window.run_length]
        ]
        # Content None, because a converter would send an empty text to the provider.
        own = _keys_of_new_message(None, context)
        yield from _split_calls(window, steps, "equal calls in one message would be merged", own)


def _keys_of_new_message(content: str | None, context: Context) -> dict[str, object]:
    """Return what a new message holds before its calls are written."""
    return {"content": content} if "content" in context.traits.content_keys else {}


def _split_calls(
    window: Window, steps: list[list[list[ToolCall]]], why: str, own: dict[str, object]
) -> Iterator[Fix]:
    """Yield a fix that splits each message into its steps, each followed by its results.

    Args:
        window: the window.
        steps: for each assistant message, the groups of calls that get separate messages.
        why: the reason in the fix.
        own: the keys of each new message after the first, before its calls are written.
    """
    answers, number = match(window).answers, 0
    call_count = sum(len(calls) for step in steps for calls in step)
    # Without a result between them, the new messages would be merged again.
    if all(len(step) < 2 for step in steps) or len(answers) < call_count:  # noqa: PLR2004
        return
    becomes: list[Message] = []
    result_indexes = {at for at, _ in answers.values()}
    remaining_parts = {at: set(range(len(window.messages[at].parts))) for at in result_indexes}
    unplaced_counts = Counter(at for at, _ in answers.values())
    for message, found in zip(window.messages[: window.run_length], steps, strict=True):
        for position, calls in enumerate(found):
            becomes.append(
                message if len(found) == 1 else _step_message(message, calls, position, own)
            )
            answered: dict[int, list[int]] = {}
            for call in range(number, number + len(calls)):
                at, part = answers[call]
                answered.setdefault(at, []).append(part)
            number += len(calls)
            for at, parts in answered.items():
                remaining_parts[at].difference_update(parts)
                unplaced_counts[at] -= len(parts)
                # The other parts of the message follow its last result.
                remaining = [] if unplaced_counts[at] else sorted(remaining_parts[at])
                result = window.messages[at]
                chosen = tuple(result.parts[part] for part in [*parts, *remaining])
                becomes.append(result.with_parts(chosen))
    stop = max(result_indexes) + 1
    becomes += [
        m
        for at, m in enumerate(window.messages[:stop])
        if at >= window.run_length and at not in result_indexes
    ]
    yield Fix(0, stop, tuple(becomes), why)


def _split_into_distinct(calls: Iterable[ToolCall]) -> Iterator[list[ToolCall]]:
    """Yield the calls in runs without two equal calls, in order."""
    step: list[ToolCall] = []
    seen: set[object] = set()
    for call in calls:
        key = _call_key(call)
        if key in seen:
            yield step
            step, seen = [], set()
        step.append(call)
        seen.add(key)
    yield step


def _call_key(call: ToolCall) -> object:
    """Return a key that is equal for calls with equal names and equal arguments as JSON."""
    try:
        arguments = (
            json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        )
        key = _hashable([call.name, arguments])
        hash(key)
    except (TypeError, ValueError, RecursionError):
        return jsontext.equality_key([call.name, call.arguments])
    return key


def _hashable(value: object) -> object:
    """Return a hashable form of a JSON value; equal values have equal forms."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(inner)) for key, inner in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _step_message(
    message: Message, calls: list[ToolCall], position: int, own: dict[str, object]
) -> Message:
    other_parts = (
        tuple(part for part in message.parts if not isinstance(part, ToolCall))
        if position == 0
        else ()
    )
    if position and message.is_object:
        message = replace(message, native=own)
    return message.with_parts((*other_parts, *calls))


RULE = Rule("TOOL009", "parallel-calls", find, STRUCTURE)


def _watch(limits: Limits, traits: Traits) -> Callable[[WindowSketch], bool] | None:
    """Return a check for windows with two calls of the same name; only these may be equal."""
    return None if limits.equal_calls else lambda seen: len(set(seen.names)) < len(seen.names)


EQUAL = Rule("TOOL009", "parallel-calls", find_equal, STRUCTURE, _watch)
