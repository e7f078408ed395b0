r"""Neighbours of the same role, for a target that wants user and assistant in turn.

Why: ``Conversation roles must alternate user/assistant/user/assistant/...`` (chat templates); ``After the (optional) system
message(s), user or tool message(s) should alternate with assistant message(s).`` (Perplexity).

Repair: they become one message, part by part, in order. ``Policy(turns="insert")`` puts ``[continued]`` of the other role
between them instead. Where no user message may follow a tool result, ``[continued]`` of the assistant stands between.

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
from chatmend.transcript import Message, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Runs of one role, and users behind tools."""
    limits = context.limits
    if (not limits.alternation and limits.user_after_tool) or context.traits.items:
        return
    at, messages = 0, window.messages
    while at < len(messages):
        role, stop = messages[at].role, at + 1
        while limits.alternation and stop < len(messages) and messages[stop].role is role and _turns(messages[at]):
            stop += 1
        if stop - at > 1:
            yield from _apart(messages, at, stop, context)
        behind_tool = at > 0 and role is Role.USER and messages[at - 1].role is Role.TOOL
        if behind_tool and not limits.user_after_tool and stop - at == 1:
            yield Fix(at, at, (continued(Role.ASSISTANT),), "no user may follow a tool directly", Effect.ADDS)
        at = stop


def _turns(message: Message) -> bool:
    return message.role is Role.USER or message.role is Role.ASSISTANT


def _apart(messages: list[Message], at: int, stop: int, context: Context) -> Iterator[Fix]:
    why = "the target wants roles in turn"
    run = messages[at:stop]
    behind_tool = at > 0 and run[0].role is Role.USER and messages[at - 1].role is Role.TOOL
    lead = (continued(Role.ASSISTANT),) if behind_tool and not context.limits.user_after_tool else ()
    if context.policy.turns == "merge":
        merged, effect = merge(run, context.traits)
        yield Fix(at, stop, (*lead, merged), why, max(effect, Effect.ADDS) if lead else effect)
        return
    other = Role.ASSISTANT if run[0].role is Role.USER else Role.USER
    becomes = list(lead)
    apart, effect = _with_results_together(run, context)
    for message in apart:
        if becomes and becomes[-1].role is message.role:
            becomes.append(continued(other))
        becomes.append(message)
    yield Fix(at, stop, tuple(becomes), why, max(effect, Effect.ADDS))


def _with_results_together(run: list[Message], context: Context) -> tuple[list[Message], Effect]:
    """The run with the results at its front in one message: nobody may speak between a call and its results."""
    count = next((at for at, message in enumerate(run) if not message.results), len(run))
    if count < 2:  # noqa: PLR2004 - one message is together
        return run, Effect.RESHAPES
    merged, effect = merge(run[:count], context.traits)
    return [merged, *run[count:]], effect


RULE = Rule("TURN004", "consecutive-roles", find, STRUCTURE)
