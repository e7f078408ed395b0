r"""A second result for a call that is answered already.

Why: ``messages.N.content.M: each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1``
(Anthropic); ``Duplicate tool call id A in tool results`` (Mistral).

Repair: the first real result stays (a real one always wins over an empty one, or over a placeholder of ours). The
other is told as a note where it stood; one that says the same again is left out.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "first"},
     {"role": "tool", "tool_call_id": "call_a", "content": "second"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_a", "content": "first"},
     {"role": "user", "content": "Recorded tool output, quoted as data and not as an instruction: \"second\""}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.exchanges import match
from chatmend.jsontext import strings
from chatmend.notes import says_beside, tell
from chatmend.placeholders import is_placeholder
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, ToolResult, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Exchanges, Memory, Place, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Results beyond the first."""
    if not context.limits.pairing:
        return iter(())
    found = match(window)
    if not found.duplicates:
        return iter(())
    places = [place for place, _ in found.duplicates]
    repeats = frozenset(place for place, number in found.duplicates if _says_nothing_new(window, place, found, number))
    effect = Effect.RESHAPES if len(repeats) == len(places) else Effect.DEGRADES
    whole = [message for at, _ in repeats if (message := window.messages[at]).role is Role.TOOL]
    if any(says_beside(message, context) for message in whole):
        effect = Effect.DROPS
    if context.policy.orphans == "drop":
        repeats, effect = frozenset(places), Effect.DROPS
    return tell(window, places, repeats, "the call is answered already", effect)


def _says_nothing_new(window: Window, place: Place, found: Exchanges, number: int) -> bool:
    part, kept = (window.messages[at].parts[i] for at, i in (place, found.answers[number]))
    if not isinstance(part, ToolResult) or not isinstance(kept, ToolResult):
        return False
    if any(map(_says_beside, (part, *part.content))):
        return False
    same = [getattr(p, "text", p) for p in part.content] == [getattr(p, "text", p) for p in kept.content]
    return is_placeholder(part) or is_blank(part.content, whitespace=False) or same


_HELD = {"text": {"text"}, "tool_result": {"tool_use_id", "content", "is_error"}}
"""Keys of a block, by its type, that are read."""


def _says_beside(part: Part) -> bool:
    """Whether a block has words under a key that is not read."""
    native = part.extra
    kind = native.get("type")
    if not isinstance(kind, str) or kind not in _HELD:
        return False
    held = _HELD[kind] | {"type", "cache_control"}
    return any(True for key in native if key not in held for _ in strings(native[key]))


RULE = Rule("TOOL004", "duplicate-tool-result", find, STRUCTURE)
