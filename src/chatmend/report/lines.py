"""A change in one line, without a word of the transcript."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.jsontext import is_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.changes import Change
    from chatmend.transcript import Native

_ROLES = {
    role: role for role in ("system", "developer", "user", "assistant", "tool", "function")
} | {"human": "user", "ai": "assistant"}  # fmt: skip
_KEYS = frozenset(
    (
        "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations",
        "thinking_blocks", "reasoning", "reasoning_content", "reasoning_details", "extra_content",
        "provider_specific_fields", "cache_control",
    )
)  # fmt: skip
"""Keys whose names may be told. Any other key is the caller's, and may say something."""
_EFFECTS = {Effect.RESHAPES: "reshapes", Effect.ADDS: "adds", Effect.DEGRADES: "degrades", Effect.DROPS: "drops"}


def line(change: Change) -> str:
    """Where, code, rule, effect, why, and what was done or would be done."""
    thinking = " [invalidates signed thinking]" if change.invalidates_thinking else ""
    effect = _EFFECTS[change.effect]
    return f"{place(change)}: {change.code} {change.rule} ({effect}): {change.why}; {deed(change)}{thinking}"


def place(change: Change) -> str:
    """Where a change is: ``messages[3]``, ``system``, ``tools``."""
    return f"messages[{change.index}]" if change.where == "messages" and change.index is not None else change.where


def is_left(change: Change) -> bool:
    """Whether a finding is left as it is also by a repair: the policy permits no such effect, or nothing would help."""
    same = len(change.before) == len(change.after)
    return not change.applied and same and all(a is b for a, b in zip(change.before, change.after, strict=True))


def deed(change: Change) -> str:
    """What was done, in a few words, or what a repair would do."""
    if change.finding:
        return "left as it is"
    if is_left(change):
        return "left as it is: the policy permits no such change"
    verb, rest = _deed(change)
    return f"{verb}s {rest}" if change.applied else f"would {verb} {rest}"


def _deed(change: Change) -> tuple[str, str]:
    before, after = change.before, change.after
    if change.where != "messages":
        return ("rewrite" if before[0] else "add"), f"the top-level {change.where}"
    if not before:
        return "add", _told(after, new=True)
    if not after:
        return "drop", _told(before)
    return _exchange(before, after)


def _exchange(before: Sequence[Native], after: Sequence[Native]) -> tuple[str, str]:
    old, new = list(map(_role, before)), list(map(_role, after))
    if len(after) == 1 < len(before):
        return "join", f"{_told(before)} into one"
    if len(before) == 1 < len(after) and len(set(new)) == 1:
        return "split", f"the {_named(old[0])} into {len(after)}"
    if sorted(map(id, before)) == sorted(map(id, after)):
        return "reorder", _told(before)
    if old == new:
        return "rewrite", _rewritten(before, after)
    return "turn", f"{_told(before)} into {_told(after, new=True)}"


def _rewritten(before: Sequence[Native], after: Sequence[Native]) -> str:
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one is not other]
    keys = sorted({key for one, other in changed for key in _keys(one, other)})
    messages = _told([one for one, _ in changed])
    return f"{_list(keys)} of {messages}" if keys else messages


def _keys(one: Native, other: Native) -> list[str]:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return []
    changed = [key for key in {**one, **other} if not is_same(one.get(key), other.get(key))]
    return [key if isinstance(key, str) and key in _KEYS else "other keys" for key in changed]


def _role(native: Native) -> str:
    role = native.get("role") if isinstance(native, dict) else getattr(native, "type", None)
    return _ROLES.get(role, "") if isinstance(role, str) else ""


def _named(role: str) -> str:
    return f"{role} message" if role else "message"


def _told(natives: Sequence[Native], *, new: bool = False) -> str:
    """``the user message and 2 tool messages``; of new ones ``a user message``."""
    words = []
    for role, number in Counter(map(_role, natives)).items():
        article = ("an" if role[:1] == "a" else "a") if new else "the"
        words.append(f"{article} {_named(role)}" if number == 1 else f"{number} {_named(role)}s")
    return _list(words)


def _list(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
