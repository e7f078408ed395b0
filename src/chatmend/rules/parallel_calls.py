"""Several calls in one message, for a template that takes one.

Why: ``This model only supports single tool-calls at once!`` (Llama 3.x chat templates).

Repair: one message for each call, each followed by its result.

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

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.rules.exchanges import match
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Message, Role, ToolCall
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with more than one call, all answered right behind."""
    if not context.limits.single_call:
        return
    found = match(window)
    number = 0
    becomes: list[Message] = []
    taken: set[int] = set()
    for message in window.messages[: window.run]:
        said = tuple(part for part in message.parts if not isinstance(part, ToolCall))
        calls = message.calls
        for place, call in enumerate(calls):
            parts = (*said, call) if place == 0 else (call,)
            becomes.append(message if len(calls) == 1 else replace(message, parts=parts, native=_alone(message, place)))
            if (answer := found.answers.get(number)) is not None:
                taken.add(answer[0])
                becomes.append(window.messages[answer[0]])
            number += 1
        if not calls:
            becomes.append(message)
    if all(len(message.calls) < 2 for message in window.messages[: window.run]):  # noqa: PLR2004 - more than one
        return
    stop = max(taken, default=window.run - 1) + 1
    becomes += [m for at, m in enumerate(window.messages[:stop]) if at >= window.run and at not in taken]
    yield Fix(0, stop, tuple(becomes), "the target takes one call in a message")


def _alone(message: Message, place: int) -> object:
    if place == 0 or not isinstance(message.native, dict):
        return message.native
    return {"role": str(Role.ASSISTANT), "content": ""}


RULE = Rule("TOOL009", "parallel-calls", Symptom.CALLS | Symptom.PAIRING, find)
