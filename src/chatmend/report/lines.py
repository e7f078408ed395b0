"""Describes a change in one line, without content of the transcript."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.hostile_values import reports_hostile_values
from chatmend.jsontext import is_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.transcript import Native

_ROLES = {
    role: role for role in ("system", "developer", "user", "assistant", "tool", "function")
} | {"human": "user", "ai": "assistant"}  # fmt: skip
_PRINTABLE_KEYS = frozenset(
    (
        "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal",
        "audio", "annotations", "thinking_blocks", "reasoning", "reasoning_content",
        "reasoning_details", "extra_content", "provider_specific_fields", "cache_control",
    )
)  # fmt: skip
"""Keys whose names a report may contain. Other names come from the caller and can be content."""
_EFFECTS = {
    Effect.RESHAPES: "reshapes",
    Effect.ADDS: "adds",
    Effect.DEGRADES: "degrades",
    Effect.DROPS: "drops",
}
PARTICIPLES = {
    Effect.RESHAPES: "reshaped",
    Effect.ADDS: "added",
    Effect.DEGRADES: "degraded",
    Effect.DROPS: "dropped",
}
"""The words for counts of changes: ``2 reshaped, 1 dropped``."""


@reports_hostile_values
def line(change: Change) -> str:
    """Return the position, code, rule, effect, reason and deed of a change."""
    thinking = " [invalidates signed thinking]" if change.invalidates_thinking else ""
    effect = _EFFECTS[change.effect]
    return (
        f"{position(change)}: {change.code} {change.rule} ({effect}): "
        f"{change.why}; {deed(change)}{thinking}"
    )


def position(change: Change) -> str:
    """Return the position of a change: ``messages[3]``, ``system`` or ``tools``."""
    return (
        f"messages[{change.index}]"
        if change.where == "messages" and change.index is not None
        else change.where
    )


def is_left(change: Change) -> bool:
    """Whether a repair leaves this defect unchanged.

    Either the policy does not allow the effect, or no change would help.
    """
    same = len(change.before) == len(change.after)
    return (
        not change.applied
        and same
        and all(a is b for a, b in zip(change.before, change.after, strict=True))
    )


def deed(change: Change) -> str:
    """Return what was done in a few words, or what a repair would do."""
    if change.finding:
        return "left unchanged"
    if is_left(change):
        return "left unchanged: the policy does not allow this change"
    verb, rest = _verb_and_object(change)
    return f"{verb}s {rest}" if change.applied else f"would {verb} {rest}"


def _verb_and_object(change: Change) -> tuple[str, str]:
    before, after = change.before, change.after
    if change.where != "messages":
        return ("rewrite" if before[0] else "add"), f"the top-level {change.where}"
    if not before:
        return "add", _list_messages(after, new=True)
    if not after:
        return "drop", _list_messages(before)
    return _describe_replacement(before, after)


def _describe_replacement(before: Sequence[Native], after: Sequence[Native]) -> tuple[str, str]:
    old, new = list(map(_role, before)), list(map(_role, after))
    if len(after) == 1 < len(before):
        return "join", f"{_list_messages(before)} into one"
    if len(before) == 1 < len(after) and len(set(new)) == 1:
        return "split", f"the {_message_noun(old[0])} into {len(after)}"
    if sorted(map(id, before)) == sorted(map(id, after)):
        return "reorder", _list_messages(before)
    if old == new:
        return "rewrite", _describe_rewrite(before, after)
    return "turn", f"{_list_messages(before)} into {_list_messages(after, new=True)}"


def _describe_rewrite(before: Sequence[Native], after: Sequence[Native]) -> str:
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one is not other]
    keys = sorted({key for one, other in changed for key in _changed_keys(one, other)})
    messages = _list_messages([one for one, _ in changed])
    return f"{_join_words(keys)} of {messages}" if keys else messages


def _changed_keys(one: Native, other: Native) -> list[str]:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return []
    changed = [key for key in {**one, **other} if not is_same(one.get(key), other.get(key))]
    return [
        key if isinstance(key, str) and key in _PRINTABLE_KEYS else "other keys" for key in changed
    ]


def _role(native: Native) -> str:
    role = native.get("role") if isinstance(native, dict) else getattr(native, "type", None)
    return _ROLES.get(role, "") if isinstance(role, str) else ""


def _message_noun(role: str) -> str:
    return f"{role} message" if role else "message"


def _list_messages(natives: Sequence[Native], *, new: bool = False) -> str:
    """Return ``the user message and 2 tool messages``, or for new messages ``a user message``."""
    words = []
    for role, number in Counter(map(_role, natives)).items():
        article = ("an" if role[:1] == "a" else "a") if new else "the"
        words.append(
            f"{article} {_message_noun(role)}"
            if number == 1
            else f"{number} {_message_noun(role)}s"
        )
    return _join_words(words)


def _join_words(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
