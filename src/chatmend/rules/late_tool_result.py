r"""A tool result that does not stand right behind its call.

Why: ``messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.`` (Anthropic);
``An assistant message with 'tool_calls' must be followed by tool messages`` (OpenAI). A user types while a tool runs; a
background job reports after the next turn.

Repair: before the next assistant message it moves up to its call. After it, the call was already answered by a
placeholder, and that was sent: so the result is told as a note where it stands, and what was sent stays as it was.

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

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.rules.exchanges import match
from chatmend.rules.orphan_tool_result import strays
from chatmend.rules.rule import Context, Rule
from chatmend.rules.stray_notes import tell, unknown_keys
from chatmend.transcript import Message, Role, ToolResult
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.windows import Exchanges, Place

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
    if not renamed and not _misplaced(window, numbers, in_order=in_order):
        return
    said, answers, rest = _sorted(window, found, whole=not renamed and not in_order)
    if in_order:
        answers.sort(key=_number)
    becomes = (*said, *(message for _, message in answers), *rest)
    yield from trimmed(window, becomes, "the result did not stand right behind its call")


def arranged(window: Window, found: Exchanges, invented: dict[int, Message], why: str) -> Iterator[Fix]:
    """The window with invented results among the real ones, in the order of the calls."""
    said, answers, rest = _sorted(window, found, whole=False)
    ordered = sorted([*answers, *invented.items()], key=_number)
    becomes = (*said, *(message for _, message in ordered), *rest)
    for fix in trimmed(window, becomes, why):
        yield replace(fix, effect=Effect.ADDS)


def _number(answer: tuple[int, Message]) -> int:
    return answer[0]


def _sorted(
    window: Window, found: Exchanges, *, whole: bool
) -> tuple[list[Message], list[tuple[int, Message]], list[Message]]:
    """What the assistant said, each answer with its call's number, and the rest; ``whole`` keeps messages together."""
    numbers = {place: number for number, place in found.answers.items()}
    said: list[Message] = []
    answers: list[tuple[int, Message]] = []
    rest: list[Message] = []
    for at, message in enumerate(window.messages):
        mine = [(numbers[at, i], part) for i, part in enumerate(message.parts) if (at, i) in numbers]
        others = tuple(part for i, part in enumerate(message.parts) if (at, i) not in numbers)
        stays = at >= window.run and message.role in _ANSWERING
        if mine and not others and stays and whole:
            answers.append((mine[0][0], message))
            continue
        carried = None if others else unknown_keys(message) or None  # what stood beside goes with the first
        for number, part in mine:
            if isinstance(part, ToolResult):
                base = message if message.role is Role.TOOL else Message(Role.TOOL, (), carried)
                carried = None
                call = found.calls[number]
                answer = replace(part, call_id=call.id, kind=call.kind)
                same = stays and len(message.parts) == 1 and answer == part
                answers.append((number, message if same else replace(base, parts=(answer,))))
        if others or not mine:
            kept = message if not mine else replace(message, parts=others)
            (said if at < window.run else rest).append(kept)
    return said, answers, rest


def trimmed(window: Window, becomes: tuple[Message, ...], why: str, effect: Effect = Effect.RESHAPES) -> Iterator[Fix]:
    """One fix for a whole window, without the messages at both ends that stay."""
    old = window.messages
    shorter = min(len(old), len(becomes))
    head = next((i for i in range(shorter) if old[i] is not becomes[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] is not becomes[-1 - i]), shorter - head)
    if head < max(len(old), len(becomes)):
        yield Fix(head, len(old) - tail, becomes[head : len(becomes) - tail], why, effect)


def _misplaced(window: Window, numbers: dict[Place, int], *, in_order: bool) -> bool:
    """Whether an answer stands behind something else than calls and answers."""
    over, last, run = False, -1, window.run
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


RULE = Rule("TOOL006", "late-tool-result", Symptom.PAIRING, find)
DISPLACED = Rule("TOOL006", "late-tool-result", Symptom.PAIRING, find_displaced)
