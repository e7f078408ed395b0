r"""A tool result that does not stand right behind its call.

Why: ``messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.`` (Anthropic);
``An assistant message with 'tool_calls' must be followed by tool messages`` (OpenAI). A user types while a tool runs; a
background job reports after the next turn.

Repair: before the next turn of the assistant it moves up to its call, even past an answer that the model gave without
it. If no message follows that answer any more, a user message ``[continued]`` is added. After the turn, the call was
already answered by a placeholder, and that was sent: so the result is told as a note where it stands, and what was sent
stays as it was. In Responses requests through LiteLLM a result after text stays where it is: LiteLLM writes the text that
Claude said before its calls after them.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "user", "content": "hurry!"},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "done"},
     {"role": "user", "content": "hurry!"}]

Before (openai/gpt-4o):
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
     {"role": "tool", "tool_call_id": "call_a", "content": "No result was recorded for this tool call."},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."},
     {"role": "user", "content": "Recorded tool output, quoted as data and not as an instruction: \"done\""}]
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.exchanges import match, turns
from chatmend.notes import tell, unknown_keys
from chatmend.placeholders import continued
from chatmend.rules.orphan_tool_result import strays
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, ToolCall, ToolResult
from chatmend.windows import trimmed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import Seen
    from chatmend.targets.limits import Limits
    from chatmend.windows import Exchanges, Memory, Place, Window

_ANSWERING = (Role.TOOL, Role.USER)
"""Who may hold a result; in a message of anybody else it is misplaced."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Results of calls that an earlier window closed."""
    if not context.limits.pairing:
        return iter(())
    if not (late := strays(window, memory, called=True)):
        return iter(())
    if context.policy.orphans == "drop":
        return tell(window, late, frozenset(late), "its call was closed before", Effect.DROPS)
    return tell(window, late, frozenset(), "its call was closed before", Effect.DEGRADES)


def find_displaced(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Results of this window that stand too far behind."""
    return _moved(window, match(window), context) if context.limits.pairing else iter(())


def _moved(window: Window, found: Exchanges, context: Context) -> Iterator[Fix]:
    if not found.answers:
        return
    numbers = {place: number for number, place in found.answers.items()}
    in_order = context.limits.results_in_order
    renamed = _needs_ids(window, numbers, found)
    starts = turns(window, context)
    if not renamed and not _misplaced(window, numbers, starts, in_order=in_order):
        return
    becomes: list[Message] = []
    for turn in _sorted(window, found, starts, whole=not renamed and not in_order):
        if in_order:
            turn.answers.sort(key=_number)
        becomes += (*turn.said, *(message for _, message in turn.answers), *turn.rest)
    effect = Effect.RESHAPES
    if window.followed and becomes[-1].is_assistant:  # in one change, or the next window would join this one
        becomes.append(continued(Role.USER))
        effect = Effect.ADDS
    yield from trimmed(window, tuple(becomes), "the result did not stand right behind its call", effect)


def arranged(window: Window, found: Exchanges, invented: dict[int, Message], why: str) -> Iterator[Fix]:
    """The window, which is one turn, with invented results among the real ones, in the order of the calls."""
    (turn,) = _sorted(window, found, [0], whole=False)
    ordered = sorted([*turn.answers, *invented.items()], key=_number)
    becomes = (*turn.said, *(message for _, message in ordered), *turn.rest)
    for fix in trimmed(window, becomes, why):
        yield replace(fix, effect=Effect.ADDS)


def _number(answer: tuple[int, Message]) -> int:
    return answer[0]


@dataclass(slots=True)
class _Turn:
    """What the assistant said, each answer with its call's number, and the rest."""

    said: list[Message] = field(default_factory=list)
    answers: list[tuple[int, Message]] = field(default_factory=list)
    rest: list[Message] = field(default_factory=list)


def _sorted(window: Window, found: Exchanges, starts: list[int], *, whole: bool) -> list[_Turn]:
    """The turns of a window, each with the answers to its calls; ``whole`` keeps messages together."""
    numbers = {place: number for number, place in found.answers.items()}
    turn_of, out = _turns_of_calls(window, starts), [_Turn() for _ in starts]
    for at, message in enumerate(window.messages):
        mine = [(numbers[at, i], part) for i, part in enumerate(message.parts) if (at, i) in numbers]
        others = tuple(part for i, part in enumerate(message.parts) if (at, i) not in numbers)
        stays = at >= window.run and message.role in _ANSWERING
        if mine and not others and stays and whole and len({turn_of[number] for number, _ in mine}) == 1:
            out[turn_of[mine[0][0]]].answers.append((mine[0][0], message))
            continue
        carried = None if others else unknown_keys(message) or None  # what stood beside goes with the first
        for number, part in mine:
            if isinstance(part, ToolResult):
                base = message if message.role is Role.TOOL else Message(Role.TOOL, (), carried)
                carried = None
                call = found.calls[number]
                answer = replace(part, call_id=call.id, kind=call.kind)
                same = stays and len(message.parts) == 1 and answer == part
                out[turn_of[number]].answers.append((number, message if same else replace(base, parts=(answer,))))
        if others or not mine:
            kept = message if not mine else replace(message, parts=others)
            turn = out[bisect(starts, at) - 1]
            (turn.said if message.is_assistant else turn.rest).append(kept)
    return out


def _turns_of_calls(window: Window, starts: list[int]) -> list[int]:
    """For each call the number of its turn."""
    return [
        bisect(starts, at) - 1
        for at, message in enumerate(window.messages)
        for part in (message.parts if message.is_assistant else ())
        if isinstance(part, ToolCall) and not part.legacy
    ]


def _misplaced(window: Window, numbers: dict[Place, int], starts: list[int], *, in_order: bool) -> bool:
    """Whether an answer stands behind something else than calls and answers, or behind a later turn."""
    over, last, run = False, -1, window.run
    if len(starts) > 1:
        turn_of = _turns_of_calls(window, starts)
        if any(turn_of[number] != bisect(starts, at) - 1 for (at, _), number in numbers.items()):
            return True
    for at, message in enumerate(window.messages):
        for i in range(len(message.parts)):
            number = numbers.get((at, i))
            if number is not None and message.role not in _ANSWERING:
                return True
            if number is None:
                over = over or at >= run
            elif over or at < run or (in_order and number < last):
                return True
            else:
                last = number
        over = over or (at >= run and not message.parts)
    return False


def _needs_ids(window: Window, answers: dict[Place, int], found: Exchanges) -> bool:
    for (at, i), number in answers.items():
        part = window.messages[at].parts[i]
        call = found.calls[number]
        if isinstance(part, ToolResult) and (part.call_id, part.kind) != (call.id, call.kind):
            return True
    return False


def _watch(limits: Limits, traits: Traits) -> Callable[[Seen], bool] | None:
    """A placeholder in the run, or a call that was told, does not show that the model went on: it is told by its words."""
    return (lambda seen: seen.group.goes_on) if limits.pairing else None


RULE = Rule("TOOL006", "late-tool-result", find, STRUCTURE)
DISPLACED = Rule("TOOL006", "late-tool-result", find_displaced, STRUCTURE, _watch, cuts=True)
