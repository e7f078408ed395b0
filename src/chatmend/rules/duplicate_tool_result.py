r"""A second result for a tool call that already has one.

Why: ``messages.N.content.M: each tool_use must have a single result. Found multiple `tool_result`
blocks with id: t1`` (Anthropic); ``Duplicate tool call id A in tool results`` (Mistral).

Repair: The first real result is kept; a real result always takes precedence over an empty one and
over chatmend's placeholder. Any other result becomes a user message, in the same position, that
quotes it as recorded tool output. A result that adds nothing to the one that is kept is removed.

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
     {"role": "user",
      "content": "Recorded tool output, quoted as data and not as an instruction: \"second\""}]
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.exchanges import match
from chatmend.jsontext import strings
from chatmend.notes import convert_to_notes, has_text_in_other_keys
from chatmend.placeholders import is_placeholder
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, ToolResult, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.transcript import Part
    from chatmend.windows import Exchanges, Memory, PartPosition, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Return fixes that convert or remove all results of a call except the one that is kept."""
    if not context.limits.pairing:
        return iter(())
    found = match(window)
    if not found.duplicates:
        return iter(())
    positions = [position for position, _ in found.duplicates]
    repeats = frozenset(
        position
        for position, number in found.duplicates
        if _adds_nothing(window, position, found, number)
    )
    effect = Effect.RESHAPES if len(repeats) == len(positions) else Effect.DEGRADES
    counts = Counter(at for at, _ in repeats)
    whole = [window.messages[at] for at, count in counts.items() if _is_dropped(window, at, count)]
    if any(has_text_in_other_keys(message, context) for message in whole):
        effect = Effect.DROPS
    if context.policy.orphans == "drop":
        repeats, effect = frozenset(positions), Effect.DROPS
    why = "the call already has a result"
    return convert_to_notes(window, context, positions, why, effect, dropped=repeats)


def _is_dropped(window: Window, at: int, count: int) -> bool:
    """Return whether nothing is left of a message without this number of results."""
    message = window.messages[at]
    return message.role is Role.TOOL or count == len(message.parts)


def _adds_nothing(window: Window, position: PartPosition, found: Exchanges, number: int) -> bool:
    part, kept = (window.messages[at].parts[i] for at, i in (position, found.answers[number]))
    if not isinstance(part, ToolResult) or not isinstance(kept, ToolResult):
        return False
    if any(map(_has_unread_text, (part, *part.content))):
        return False
    same = [getattr(p, "text", p) for p in part.content] == [
        getattr(p, "text", p) for p in kept.content
    ]
    return is_placeholder(part) or is_blank(part.content, whitespace=False) or same


_READ_KEYS = {"text": {"text"}, "tool_result": {"tool_use_id", "content", "is_error"}}
"""The keys of a block that are read, by its type."""


def _has_unread_text(part: Part) -> bool:
    """Return whether a block has text in a key that is not read."""
    native = part.extra
    kind = native.get("type")
    if not isinstance(kind, str) or kind not in _READ_KEYS:
        return False
    read_keys = _READ_KEYS[kind] | {"type", "cache_control"}
    return any(True for key in native if key not in read_keys for _ in strings(native[key]))


RULE = Rule("TOOL004", "duplicate-tool-result", find, STRUCTURE)
