"""Cuts a window into turns, and moves results to the calls of their turn.

A turn is a run of assistant messages with calls, their results, and what follows them.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.exchanges import match
from chatmend.merging import merge
from chatmend.notes import unknown_keys
from chatmend.placeholders import CALL_NOTE, CONTINUED
from chatmend.transcript import Media, Message, Role, Text, ToolCall, ToolResult
from chatmend.windows import minimal_fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.windows import Exchanges, Window

RESULT_ROLES = (Role.TOOL, Role.USER)
"""Roles of messages that may hold a result; in other messages a result is misplaced."""


def turn_starts(window: Window, context: Context) -> list[int]:
    """Return the message indexes at which the turns of a window start; usually there is one turn.

    An assistant message with text and no calls shows that the model continued, so its earlier calls
    are closed. An assistant message after another role starts a new turn too. A message with only
    thinking shows nothing: it may separate parallel calls. With the limit ``words_behind_calls``,
    text shows nothing either while a result of an earlier call is still to come.
    """
    converted, latest = context.limits.words_behind_calls, -1
    answered, starts, called, number = match(window).answers, [0], False, 0
    first_without_calls: int | None = None
    for at, message in enumerate(window.messages):
        if not message.is_assistant:
            first_without_calls = None
            continue
        if at and not window.messages[at - 1].is_assistant:
            starts.append(at)
            called = False
        calls = [call for call in message.calls if call.awaits_result]
        if calls:
            # No placeholder can replace the missing result of a provider-defined tool.
            called = called or any(
                not call.is_hosted or number + i in answered for i, call in enumerate(calls)
            )
            if converted:
                numbers = range(number, number + len(calls))
                latest = max([latest, *(answered[n][0] for n in numbers if n in answered)])
            number, first_without_calls = number + len(calls), None
        elif called:
            first_without_calls = at if first_without_calls is None else first_without_calls
            if _has_model_content(message) and not (converted and latest > at):
                starts.append(first_without_calls)
                called, first_without_calls = False, None
    return starts


def cut_positions(window: Window, context: Context) -> list[int]:
    """Return where to cut a window into turns, once its results are in the right positions.

    A result separates two turns. If there is none and the policy allows no placeholder, they stay
    one turn.
    """
    if not context.limits.pairing:
        return [0]
    added = context.policy.allow >= Effect.ADDS
    return [
        at
        for at in turn_starts(window, context)
        if added or not at or not window.messages[at - 1].is_assistant
    ]


def _has_model_content(message: Message) -> bool:
    """Whether a message has media, or text that is neither a placeholder nor a converted call.

    Words next to the content are text, too: where they are refused there, they become the content.
    """
    return message.words_beside_content is not None or any(
        isinstance(part, Media) or (isinstance(part, Text) and _is_model_text(part.text))
        for part in message.parts
    )


def _is_model_text(text: str) -> bool:
    """Whether the model wrote a text, which may be joined from several (``text_of``)."""
    rest = text.strip()
    while rest.startswith(CONTINUED):
        rest = rest.removeprefix(CONTINUED).lstrip()
    return bool(rest) and not rest.startswith(CALL_NOTE)


@dataclass(slots=True)
class Turn:
    """The messages of a turn: the assistant's, the results with their call numbers, and others."""

    assistant: list[Message] = field(default_factory=list)
    answers: list[tuple[int, Message]] = field(default_factory=list)
    rest: list[Message] = field(default_factory=list)


def split_into_turns(
    window: Window, found: Exchanges, starts: list[int], traits: Traits, *, whole: bool
) -> list[Turn]:
    """Split a window into turns, each with the results of its calls.

    With ``whole``, a message that holds only results of one turn is not split.
    """
    numbers = {position: number for number, position in found.answers.items()}
    turn_of, out = turns_of_calls(window, starts), [Turn() for _ in starts]
    for at, message in enumerate(window.messages):
        own_results = [
            (numbers[at, i], part) for i, part in enumerate(message.parts) if (at, i) in numbers
        ]
        others = tuple(part for i, part in enumerate(message.parts) if (at, i) not in numbers)
        stays = at >= window.run_length and message.role in RESULT_ROLES
        if (
            own_results
            and not others
            and stays
            and whole
            and len({turn_of[number] for number, _ in own_results}) == 1
        ):
            out[turn_of[own_results[0][0]]].answers.append((own_results[0][0], message))
            continue
        # The first result keeps the unknown keys of the message.
        kept_keys = None if others else unknown_keys(message, traits) or None
        for number, part in own_results:
            if isinstance(part, ToolResult):
                base = message if message.role is Role.TOOL else Message(Role.TOOL, (), kept_keys)
                kept_keys = None
                call = found.calls[number]
                kind = part.kind if part.has_kind_for(call) else call.kind
                answer = replace(part, call_id=call.id, kind=kind)
                same = stays and len(message.parts) == 1 and answer == part
                out[turn_of[number]].answers.append(
                    (number, message if same else base.with_parts((answer,)))
                )
        if others or not own_results:
            kept = message if not own_results else message.with_parts(others)
            turn = out[turn_at(at, starts)]
            (turn.assistant if message.is_assistant else turn.rest).append(kept)
    return out


def turn_at(index: int, starts: list[int]) -> int:
    """Return the number of the turn that a message belongs to."""
    return bisect(starts, index) - 1


def turns_of_calls(window: Window, starts: list[int]) -> list[int]:
    """Return the number of the turn of each call."""
    return [
        turn_at(at, starts)
        for at, message in enumerate(window.messages)
        for part in (message.parts if message.is_assistant else ())
        if isinstance(part, ToolCall) and part.awaits_result
    ]


def join_results(
    answers: list[tuple[int, Message]], context: Context
) -> tuple[list[Message], Effect]:
    """Return the messages with the results of a turn, as one message if the dialect joins them.

    Also returns the effect of joining them.
    """
    messages = [message for _, message in answers]
    if not context.traits.joins_results or len(messages) < 2:  # noqa: PLR2004 - nothing to join
        return messages, Effect.RESHAPES
    joined, effect = merge(messages, context.traits)
    return [replace(joined, role=Role.USER)], effect


def insert_results(
    window: Window,
    found: Exchanges,
    placeholders: dict[int, Message],
    context: Context,
) -> Iterator[Fix]:
    """Yield fixes that insert generated results among the real ones, in the order of the calls.

    The window must be a single turn.
    """
    (turn,) = split_into_turns(window, found, [0], context.traits, whole=False)
    ordered = sorted([*turn.answers, *placeholders.items()], key=itemgetter(0))
    results, effect = join_results(ordered, context)
    becomes = (*turn.assistant, *results, *turn.rest)
    for fix in minimal_fix(window, becomes, "the call has no result"):
        yield replace(fix, effect=max(effect, Effect.ADDS))
