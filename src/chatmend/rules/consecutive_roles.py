r"""Consecutive messages of the same role, for a target that requires alternating roles.

Why: ``Conversation roles must alternate user/assistant/user/assistant/...`` (chat templates);
``After the (optional) system message(s), user or tool message(s) should alternate with assistant
message(s).`` (Perplexity).

Repair: The messages are merged into one that has all their parts in order. With
``Policy(turns="insert")``, a message ``[continued]`` of the other role is inserted between them
instead. If the target accepts no user message directly after a tool result, or nothing else in a
message with results (Gemini 3), an assistant message ``[continued]`` is inserted between the two.

Before (strict):
    [{"role": "user", "content": "a"},
     {"role": "user", "content": "b"}]
After:
    [{"role": "user", "content": "a\n\nb"}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.merging import merge
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Media, Message, Role, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for runs of one role, and for user messages directly after tool results."""
    limits = context.limits
    if not (limits.alternation or _parts_results(context)) or context.traits.messages_are_items:
        return
    at, messages = 0, window.messages
    while at < len(messages):
        role, stop = messages[at].role, at + 1
        while (
            limits.alternation
            and stop < len(messages)
            and messages[stop].role is role
            and _is_user_or_assistant(messages[at])
        ):
            stop += 1
        if stop - at > 1:
            yield from _fix_run(messages, at, stop, context)
        if _parts_results(context) and role is Role.USER and stop - at == 1:
            yield from _fix_user_after_tool(messages, at, context)
        at = stop


def _parts_results(context: Context) -> bool:
    """Return whether an assistant message must separate results from what the user says next.

    Messages with only results cannot be merged with others, so those must alternate, too.
    """
    limits = context.limits
    return not limits.user_after_tool or (limits.alternation and limits.results_alone)


def _fix_user_after_tool(messages: list[Message], at: int, context: Context) -> Iterator[Fix]:
    """Separate a user message from the results before it, and from those among its own parts."""
    message = messages[at]
    why = "the target accepts no user message directly after a tool result"
    becomes = _split_results(message, context)
    if len(becomes) > 1:
        yield Fix(at, at + 1, becomes, why, Effect.ADDS)
    elif at > 0 and messages[at - 1].results and not message.results:
        yield Fix(at, at, (continued(Role.ASSISTANT),), why, Effect.ADDS)


def _split_results(message: Message, context: Context) -> tuple[Message, ...]:
    """Return a message with tool results and other content as two, with a placeholder between."""
    alone = context.limits.results_alone
    beside = tuple(
        part
        for part in message.parts
        if isinstance(part, Text | Media) or (alone and not isinstance(part, ToolResult))
    )
    if not message.results or not beside:
        return (message,)
    results = tuple(part for part in message.parts if part not in beside)
    return message.with_parts(results), continued(Role.ASSISTANT), Message(Role.USER, beside)


def _is_user_or_assistant(message: Message) -> bool:
    return message.role is Role.USER or message.role is Role.ASSISTANT


def _fix_run(messages: list[Message], at: int, stop: int, context: Context) -> Iterator[Fix]:
    why = "the target requires user and assistant messages to alternate"
    run = messages[at:stop]
    follows_tool = at > 0 and run[0].role is Role.USER and messages[at - 1].role is Role.TOOL
    lead = (continued(Role.ASSISTANT),) if follows_tool and _parts_results(context) else ()
    if context.policy.turns == "merge":
        merged, effect = merge(run, context.traits)
        parted = _split_results(merged, context) if _parts_results(context) else (merged,)
        becomes = [*lead, *parted]
        adds = len(becomes) > 1
        yield Fix(at, stop, tuple(becomes), why, max(effect, Effect.ADDS) if adds else effect)
        return
    other = Role.ASSISTANT if run[0].role is Role.USER else Role.USER
    becomes = list(lead)
    turn_messages, effect = _merge_results(run, context)
    for message in _split_all(turn_messages, context) if _parts_results(context) else turn_messages:
        if becomes and becomes[-1].role is message.role:
            becomes.append(continued(other))
        becomes.append(message)
    yield Fix(at, stop, tuple(becomes), why, max(effect, Effect.ADDS))


def _split_all(messages: list[Message], context: Context) -> list[Message]:
    return [part for message in messages for part in _split_results(message, context)]


def _merge_results(run: list[Message], context: Context) -> tuple[list[Message], Effect]:
    """Merge the tool results at the start of the run.

    No message may separate a call from its results.
    """
    count = next((at for at, message in enumerate(run) if not message.results), len(run))
    if count < 2:  # noqa: PLR2004 - a single message needs no merging
        return run, Effect.RESHAPES
    merged, effect = merge(run[:count], context.traits)
    return [merged, *run[count:]], effect


RULE = Rule("TURN004", "consecutive-roles", find, STRUCTURE)
