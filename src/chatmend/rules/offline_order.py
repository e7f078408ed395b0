"""A message order that may be repaired only in a stored transcript, if the policy requests it.

Why: Moving a late result back to its call, or a system message to the front, rewrites what was
already sent. If nothing was sent, the result is a better transcript.

Repair: With ``Policy.offline()``, or a policy with the same options, before all other rules: late
results move back to their calls, messages that exactly repeat the previous message are removed, and
system messages move to the front.

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
from chatmend.jsontext import equality_key, is_same
from chatmend.rules.rule import Request, RequestRule
from chatmend.transcript import Role, ToolResult, is_unchanged

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.transcript import Message

CODE, NAME = "OFF001", "offline-order"
_Messages = list[Any]


def moves_only_results(messages: _Messages, context: Context) -> bool:
    """Return whether no message repeats and none is hoisted, so that only late results can move.

    The call of a late result has no result in its window, which is then not clean.
    """
    policy = context.policy
    return (
        policy.late_results == "move"
        and context.limits.pairing
        and not _hoists(context)
        and not (policy.duplicates == "messages" and _has_equal_neighbours(messages))
    )


def _hoists(context: Context) -> bool:
    limits = context.limits
    is_wanted = context.policy.system == "hoist" and not limits.thinking_bound
    return is_wanted and limits.system != "anywhere"


def rewrites(context: Context) -> bool:
    """Return whether the policy may rewrite messages before the first window."""
    policy = context.policy
    return policy.duplicates == "messages" or policy.late_results == "move" or _hoists(context)


def _has_equal_neighbours(messages: _Messages) -> bool:
    return any(map(is_same, messages[1:], messages))


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Apply the options of the policy that are for stored transcripts, one change for each."""
    policy, changes, messages = context.policy, list[Change](), request.messages
    if not rewrites(context):
        return request, changes
    hoists = _hoists(context)
    for wanted, step, why in (
        (
            policy.duplicates == "messages",
            _remove_repeats,
            "messages that repeat the previous message are removed",
        ),
        (policy.late_results == "move", _move_results_back, "late results move to their calls"),
        (hoists, _move_system_to_front, "system messages move to the front"),
    ):
        becomes = step(messages, context) if wanted else messages
        if not is_unchanged(becomes, messages):
            before, after, first = tuple(messages), tuple(becomes), _first_moved(messages, becomes)
            changes.append(
                Change(
                    CODE, NAME, Effect.RESHAPES, first, f"offline: {why}", before, after, None, -1
                )
            )
            messages = becomes
    return (replace(request, messages=messages), changes) if changes else (request, [])


def _first_moved(messages: _Messages, becomes: _Messages) -> int:
    """Return the first index at which the messages differ."""
    return next(
        (
            at
            for at, (old, new) in enumerate(zip(messages, becomes, strict=False))
            if old is not new
        ),
        len(becomes),
    )


def _remove_repeats(messages: _Messages, context: Context) -> _Messages:
    def repeats(message: object, previous: object) -> bool:
        return (
            isinstance(message, dict)
            and is_same(message, previous)
            and not _lacks_ids(context.dialect.read(message))
        )

    return [
        m
        for m, previous in zip(messages, [None, *messages], strict=False)
        if not repeats(m, previous)
    ]


def _lacks_ids(message: Message) -> bool:
    """Return whether a call or result has no id, so that an equal message may be another call."""
    return any(call.id is None for call in message.calls) or any(
        not result.call_id for result in message.results
    )


def _move_system_to_front(messages: _Messages, context: Context) -> _Messages:
    read = [context.dialect.read(message) for message in messages]
    front = [native for native, message in zip(messages, read, strict=True) if message.is_system]
    return front + [
        native for native, message in zip(messages, read, strict=True) if not message.is_system
    ]


def _move_results_back(messages: _Messages, context: Context) -> _Messages:
    """Move each result after the window of its call to this call, if it has no other result."""
    read = [context.dialect.read(message) for message in messages]
    ends = _run_ends(read)
    assistant_counts = list(accumulate((message.is_assistant for message in read), initial=0))
    open_calls: dict[str, deque[int]] = {}
    moved_after: dict[int, list[int]] = {}
    moved: set[int] = set()
    for at, message in enumerate(read):
        for call in message.calls if message.is_assistant else ():
            open_calls.setdefault(equality_key(call.id), deque()).append(ends[at])
        for result in message.results:
            sources = (
                open_calls.get(equality_key(result.call_id))
                if result.call_id not in (None, "")
                else None
            )
            if sources:
                source = sources.popleft()
                if (
                    _is_single_result(message)
                    and assistant_counts[at] > assistant_counts[source + 1]
                ):
                    moved_after.setdefault(source, []).append(at)
                    moved.add(at)
    out: _Messages = []
    for at, native in enumerate(messages):
        if at not in moved:
            out.append(native)
        out += [messages[late] for late in moved_after.get(at, ())]
    return out


def _run_ends(read: list[Message]) -> list[int]:
    """Return, for each message, the last index of its run of assistant messages.

    Results follow the whole run.
    """
    ends = list(range(len(read)))
    for at in range(len(read) - 2, -1, -1):
        if read[at].is_assistant and read[at + 1].is_assistant:
            ends[at] = ends[at + 1]
    return ends


def _is_single_result(message: Message) -> bool:
    return (
        len(message.parts) == 1
        and isinstance(message.parts[0], ToolResult)
        and message.role in (Role.TOOL, Role.USER)
    )


RULE = RequestRule(CODE, NAME, apply)
