"""Several calls in one message, for a template that takes one; or two that ask for the same, where they would be one.

Why: ``This model only supports single tool-calls at once!`` (Llama 3.x chat templates); ``Please ensure that the number
of function response parts is equal to the number of function call parts of the function call turn`` (Gemini before 3
through LiteLLM, which folds equal calls into one and sends the results of both).

Repair: one message for each call, or for each run of distinct calls, each followed by its results.

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
from chatmend.transcript import Message, Role, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import Seen
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with more than one call."""
    if context.limits.single_call:
        steps = [[[call] for call in message.calls] or [[]] for message in window.messages[: window.run]]
        yield from _one_after_the_other(window, steps, "the target takes one call in a message", "")


def find_equal(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with calls that ask for the same."""
    if not context.limits.equal_calls:
        steps = [list(_distinct(message.calls)) for message in window.messages[: window.run]]
        # A converter would send an empty text.
        yield from _one_after_the_other(window, steps, "equal calls of one message would become one", None)


def _one_after_the_other(
    window: Window, steps: list[list[list[ToolCall]]], why: str, content: str | None
) -> Iterator[Fix]:
    """Give each step of each message a message of its own, with its results right behind."""
    exchanges, number = match(window), 0
    answers = exchanges.answers
    # without a result between them they would be one message again
    if all(len(found) < 2 for found in steps) or len(answers) < len(exchanges.calls):  # noqa: PLR2004 - more than one
        return
    becomes: list[Message] = []
    taken = {at for at, _ in answers.values()}
    left = {at: set(range(len(window.messages[at].parts))) for at in taken}
    waiting = Counter(at for at, _ in answers.values())
    for message, found in zip(window.messages[: window.run], steps, strict=True):
        for place, calls in enumerate(found):
            becomes.append(message if len(found) == 1 else _step(message, calls, place, content))
            answered: dict[int, list[int]] = {}
            for call in range(number, number + len(calls)):
                at, part = answers[call]
                answered.setdefault(at, []).append(part)
            number += len(calls)
            for at, parts in answered.items():
                left[at].difference_update(parts)
                waiting[at] -= len(parts)
                rest = (
                    [] if waiting[at] else sorted(left[at])
                )  # what else the message says stands behind its last result
                becomes.append(_holding(window.messages[at], [*parts, *rest]))
    stop = max(taken, default=window.run - 1) + 1
    becomes += [m for at, m in enumerate(window.messages[:stop]) if at >= window.run and at not in taken]
    yield Fix(0, stop, tuple(becomes), why)


def _holding(message: Message, parts: list[int]) -> Message:
    """A message with some of its parts: itself where they are all of them, in order."""
    if parts == list(range(len(message.parts))):
        return message
    return replace(message, parts=tuple(message.parts[part] for part in parts))


def _distinct(calls: Iterable[ToolCall]) -> Iterator[list[ToolCall]]:
    """The calls of a message in runs of which no two are equal, in order."""
    step: list[ToolCall] = []
    seen: set[object] = set()
    for call in calls:
        meant = _meant(call)
        if meant in seen:
            yield step
            step, seen = [], set()
        step.append(call)
        seen.add(meant)
    yield step


def _meant(call: ToolCall) -> object:
    """What a call asks for, however its arguments are spelled."""
    try:
        arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        meant = _frozen([call.name, arguments])
        hash(meant)
    except (TypeError, ValueError, RecursionError):
        return jsontext.identity([call.name, call.arguments])
    return meant


def _frozen(value: object) -> object:
    """A JSON value that can be looked up; equal ones stay equal."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(inner)) for key, inner in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _step(message: Message, calls: list[ToolCall], place: int, content: str | None) -> Message:
    said = tuple(part for part in message.parts if not isinstance(part, ToolCall)) if place == 0 else ()
    if place and message.is_object:
        message = replace(message, native={"role": str(Role.ASSISTANT), "content": content})
    return replace(message, parts=(*said, *calls))


RULE = Rule("TOOL009", "parallel-calls", find, STRUCTURE)


def _watch(limits: Limits, traits: Traits) -> Callable[[Seen], bool] | None:
    """Equal calls have equal names."""
    return None if limits.equal_calls else lambda seen: len(set(seen.names)) < len(seen.names)


EQUAL = Rule("TOOL009", "parallel-calls", find_equal, STRUCTURE, _watch)
