"""Results of parallel calls in several messages, or in one message with other content.

Why: ``Please ensure that the number of function response parts is equal to the number of function
call parts of the function call turn.`` (Gemini on Vertex AI, and Gemini 3 and later).

Repair: The results move into one message, in the order of their calls. Texts and images move to the
message after it.

Before (gemini/gemini-3-pro-preview):
    [{"role": "user", "parts": [{"text": "go"}]},
     {"role": "model", "parts": [
         {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmF0dXJlIG9mIGY="},
         {"functionCall": {"name": "g", "args": {}}}]},
     {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]},
     {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": {"a": 2}}}]}]
After:
    [{"role": "user", "parts": [{"text": "go"}]},
     {"role": "model", "parts": [
         {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmF0dXJlIG9mIGY="},
         {"functionCall": {"name": "g", "args": {}}}]},
     {"role": "user", "parts": [
         {"functionResponse": {"name": "f", "response": {"a": 1}}},
         {"functionResponse": {"name": "g", "response": {"a": 2}}}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.exchanges import match
from chatmend.merging import with_keys_of_all
from chatmend.notes import unknown_keys
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Role, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield a fix that moves the results of a turn into one message, without other content."""
    limits = context.limits
    if not context.traits.results_are_parts or not (
        limits.results_together or limits.results_alone
    ):
        return
    answers = sorted(match(window).answers.items())
    indexes = sorted({at for _, (at, _) in answers if at >= window.run_length})
    if not indexes:
        return
    first, stop = indexes[0], indexes[-1] + 1
    span = window.messages[first:stop]
    results = tuple(window.messages[at].parts[part] for _, (at, part) in answers if at >= first)
    moved = set(map(id, results))
    is_scattered = limits.results_together and len(indexes) > 1
    is_mixed = limits.results_alone and any(
        at in indexes and len(_others(message, moved)) > 0 for at, message in enumerate(span, first)
    )
    if not is_scattered and not is_mixed:
        return
    others = [_others(message, moved) for message in span]
    beside = () if limits.results_alone else others[0]
    rest = others if limits.results_alone else others[1:]
    joined, effect = span[0], Effect.RESHAPES
    if any(unknown_keys(message, context.traits) for message in span[1:]):
        joined, effect = with_keys_of_all(span, context.traits)
    becomes = (
        joined.with_parts((*results, *beside)),
        *(Message(Role.USER, parts) for parts in rest if parts),
    )
    why = "the target requires the results of a turn in one message, without other content"
    yield Fix(first, stop, becomes, why, effect)


def _others(message: Message, moved: set[int]) -> tuple[Part, ...]:
    """Return the parts of a message without the results that move."""
    return tuple(
        part for part in message.parts if not isinstance(part, ToolResult) or id(part) not in moved
    )


RULE = Rule("TOOL018", "scattered-results", find, STRUCTURE)
