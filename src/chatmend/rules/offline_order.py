"""An order that only a stored transcript may be given, as the policy asked for.

Why: moving a late result back to its call, or a system message to the front, rewrites what was already sent. Where
nothing was sent it gives the better transcript.

Repair: with ``Policy.offline()`` and its like, before all other rules: late results return to their calls, messages
that repeat their neighbour word for word go, system messages move to the front.

Before (openai/gpt-4o, Policy.offline()):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."}]
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from chatmend.changes import Change, Effect
from chatmend.jsontext import identity, is_same
from chatmend.rules.rule import Request, RequestRule
from chatmend.transcript import Role, ToolResult, is_unchanged

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "OFF001", "offline-order"
_Messages = list[Any]


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """The request after the offline choices: a change for each that had something to do."""
    policy, changes, messages = context.policy, list[Change](), request.messages
    hoists = policy.system == "hoist" and context.limits.system != "anywhere"
    if not (hoists or policy.duplicates == "messages" or policy.late_results == "move"):
        return request, changes
    for wanted, step, why in (
        (policy.duplicates == "messages", _without_repeats, "a message that repeats the one before it goes"),
        (policy.late_results == "move", _returned, "a late result returns to its call"),
        (hoists, _hoisted, "system messages stand at the front"),
    ):
        becomes = step(messages, context) if wanted else messages
        if not is_unchanged(becomes, messages):
            before, after, first = tuple(messages), tuple(becomes), _first_moved(messages, becomes)
            changes.append(Change(CODE, NAME, Effect.RESHAPES, first, f"offline: {why}", before, after, None, -1))
            messages = becomes
    return (replace(request, messages=messages), changes) if changes else (request, [])


def _first_moved(messages: _Messages, becomes: _Messages) -> int:
    """The first place where another message stands than before."""
    return next(
        (at for at, (old, new) in enumerate(zip(messages, becomes, strict=False)) if old is not new), len(becomes)
    )


def _without_repeats(messages: _Messages, context: Context) -> _Messages:
    def repeats(message: object, previous: object) -> bool:
        return (
            isinstance(message, dict) and is_same(message, previous) and not _is_idless(context.dialect.read(message))
        )

    return [m for m, previous in zip(messages, [None, *messages], strict=False) if not repeats(m, previous)]


def _is_idless(message: Message) -> bool:
    """Whether a message holds a call or result that no id tells from another that says the same."""
    return any(call.id is None for call in message.calls) or any(not result.call_id for result in message.results)


def _hoisted(messages: _Messages, context: Context) -> _Messages:
    read = [context.dialect.read(message) for message in messages]
    front = [native for native, message in zip(messages, read, strict=True) if message.is_system]
    return front + [native for native, message in zip(messages, read, strict=True) if not message.is_system]


def _returned(messages: _Messages, context: Context) -> _Messages:
    """Each result message that comes after its call's window, moved behind the call that nobody answered."""
    read = [context.dialect.read(message) for message in messages]
    ends = _ends(read)
    spoken = list(accumulate((message.is_assistant for message in read), initial=0))
    open_calls: dict[str, deque[int]] = {}
    behind: dict[int, list[int]] = {}
    moved: set[int] = set()
    for at, message in enumerate(read):
        for call in message.calls if message.is_assistant else ():
            open_calls.setdefault(identity(call.id), deque()).append(ends[at])
        for result in message.results:
            waiting = open_calls.get(identity(result.call_id)) if result.call_id not in (None, "") else None
            if waiting:
                source = waiting.popleft()
                if _only_result(message) and spoken[at] > spoken[source + 1]:
                    behind.setdefault(source, []).append(at)
                    moved.add(at)
    out: _Messages = []
    for at, native in enumerate(messages):
        if at not in moved:
            out.append(native)
        out += [messages[late] for late in behind.get(at, ())]
    return out


def _ends(read: list[Message]) -> list[int]:
    """For each message the last one of its run of the assistant's: results stand behind the whole of it."""
    ends = list(range(len(read)))
    for at in range(len(read) - 2, -1, -1):
        if read[at].is_assistant and read[at + 1].is_assistant:
            ends[at] = ends[at + 1]
    return ends


def _only_result(message: Message) -> bool:
    return (
        len(message.parts) == 1 and isinstance(message.parts[0], ToolResult) and message.role in (Role.TOOL, Role.USER)
    )


RULE = RequestRule(CODE, NAME, apply)
