r"""A tool result that does not directly follow its call.

Why: ``messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:
toolu_1.`` (Anthropic); ``An assistant message with 'tool_calls' must be followed by tool messages``
(OpenAI). This happens when a user writes while a tool runs, or when a background job reports after
the next turn.

Repair: A result before the next assistant turn moves up to its call, even past an answer that the
model gave without it. If no message then follows that answer, a user message ``[continued]`` is
added. A result after the next assistant turn is too late: its call was already sent with a
placeholder as its result. It becomes a user message, in the same position, that quotes it as
recorded tool output; what was already sent is unchanged. In Responses requests through LiteLLM, a
result after text keeps its position, because LiteLLM writes text that Claude wrote before its calls
after them.

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
     {"role": "tool", "tool_call_id": "call_a",
      "content": "No result was recorded for this tool call."},
     {"role": "user", "content": "hurry!"},
     {"role": "assistant", "content": "I am waiting."},
     {"role": "user",
      "content": "Recorded tool output, quoted as data and not as an instruction: \"done\""}]
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.exchanges import find_strays, match
from chatmend.notes import convert_to_notes
from chatmend.placeholders import continued
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, ToolResult
from chatmend.turns import (
    RESULT_ROLES,
    join_results,
    split_into_turns,
    turn_at,
    turn_starts,
    turns_of_calls,
)
from chatmend.windows import minimal_fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.windows import Exchanges, Memory, PartPosition, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that convert or drop results of calls in earlier windows."""
    if not context.limits.pairing:
        return iter(())
    if not (late := find_strays(window, memory, called=True)):
        return iter(())
    why = "its call belongs to an earlier turn"
    if context.policy.orphans == "drop":
        dropped = frozenset(late)
        return convert_to_notes(window, context, late, why, Effect.DROPS, dropped=dropped)
    return convert_to_notes(window, context, late, why, Effect.DEGRADES)


def find_displaced(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that move results of this window directly after their calls."""
    return _move_results(window, match(window), context) if context.limits.pairing else iter(())


def _move_results(window: Window, found: Exchanges, context: Context) -> Iterator[Fix]:
    if not found.answers:
        return
    numbers = {position: number for number, position in found.answers.items()}
    in_order = context.limits.results_in_order
    by_name = context.traits.results_by_name
    needs_new_ids = _has_other_ids(window, numbers, found, results_by_name=by_name)
    starts = turn_starts(window, context)
    if not needs_new_ids and not _has_misplaced_results(window, numbers, starts, in_order=in_order):
        return
    becomes: list[Message] = []
    effect = Effect.RESHAPES
    whole = not needs_new_ids and not in_order
    for turn in split_into_turns(window, found, starts, context.traits, whole=whole):
        if in_order:
            turn.answers.sort(key=itemgetter(0))
        results, joining = join_results(turn.answers, context)
        becomes += (*turn.assistant, *results, *turn.rest)
        effect = max(effect, joining)
    # Added in the same change: without it, the next window would be joined to this one.
    if window.has_other_roles and becomes[-1].is_assistant:
        becomes.append(continued(Role.USER))
        effect = max(effect, Effect.ADDS)
    yield from minimal_fix(
        window, tuple(becomes), "the result does not directly follow its call", effect
    )


def _has_misplaced_results(
    window: Window, numbers: dict[PartPosition, int], starts: list[int], *, in_order: bool
) -> bool:
    """Return whether a result follows other content or a later turn, or is out of order."""
    if in_order and [numbers[at] for at in sorted(numbers)] != sorted(numbers.values()):
        return True
    is_after_content, run = False, window.run_length
    turn_of = turns_of_calls(window, starts)
    if any(turn_of[number] != turn_at(at, starts) for (at, _), number in numbers.items()):
        return True
    for at, message in enumerate(window.messages):
        for i in range(len(message.parts)):
            number = numbers.get((at, i))
            if number is not None and message.role not in RESULT_ROLES:
                return True
            if number is None:
                is_after_content = is_after_content or at >= run
            elif is_after_content or at < run:
                return True
        is_after_content = is_after_content or (at >= run and not message.parts)
    return False


def _has_other_ids(
    window: Window, answers: dict[PartPosition, int], found: Exchanges, *, results_by_name: bool
) -> bool:
    for (at, i), number in answers.items():
        part = window.messages[at].parts[i]
        call = found.calls[number]
        if not isinstance(part, ToolResult) or (part.call_id is None and results_by_name):
            continue
        if part.call_id != call.id or not part.has_kind_for(call):
            return True
    return False


def _watch(limits: Limits, traits: Traits) -> Callable[[WindowSketch], bool] | None:
    """Return a check for windows in which the rule depends on the text of messages.

    Text after a call begins a new turn, unless it is a placeholder or a call converted to text.
    """
    return (lambda seen: seen.group.may_span_turns) if limits.pairing else None


RULE = Rule("TOOL006", "late-tool-result", find, STRUCTURE)
DISPLACED = Rule(
    "TOOL006", "late-tool-result", find_displaced, STRUCTURE, _watch, splits_window=True
)
