"""Gives calls ids that the target accepts.

The id of a call depends only on the messages up to it, never on later ones.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from chatmend.changes import Fix
from chatmend.dialects.content import ID_SEPARATOR, signature_in_id
from chatmend.jsontext import equality_key
from chatmend.targets.strictness import SAMPLES
from chatmend.transcript import ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.targets import Limits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH_VALUES = 62**9
"""The number of values that nine base-62 digits can represent; small integers are faster."""
_HASH_LENGTH = 8
_MAX_LENGTH = 40


def new_call_id(original: object, memory: Memory, limits: Limits, taken: set[str]) -> str:
    """Return a new id for a call whose id or description is ``original``.

    It contains a hash of ``original`` and of the number of ids already made from it. For Gemini,
    it ends with the thought signature of ``original``, if that has one.
    """
    key = original if isinstance(original, str) else equality_key(original)
    while True:
        count = memory.id_counts.get(key, 0)
        memory.id_counts[key] = count + 1
        candidate = _format_id(key, count, limits)
        if candidate not in memory.call_ids and candidate not in taken:
            taken.add(candidate)
            return candidate


def describe_call(call: ToolCall) -> str:
    """Describe a call without an id by its name and arguments."""
    name, arguments = (
        value if isinstance(value, str) else equality_key(value)
        for value in (call.name, call.arguments)
    )
    return f"{name}({arguments})"


def _format_id(key: str, count: int, limits: Limits) -> str:
    from hashlib import sha256  # noqa: PLC0415 - `import chatmend` stays fast

    number = (
        int.from_bytes(sha256(f"{key}\0{count}".encode("utf-8", "surrogatepass")).digest())
        % _HASH_VALUES
    )
    letters = ""
    for _ in range(9):
        number, digit = divmod(number, 62)
        letters += _BASE62[digit]
    style = _style_for(limits)
    if style == "alnum9":
        return letters
    separator = "" if style == "alnum" else "_"
    allowed = r"[^A-Za-z0-9]" if not separator else r"[^A-Za-z0-9_-]"
    stem_length = (
        min(limits.max_call_id_length or _MAX_LENGTH, _MAX_LENGTH) - len(separator) - _HASH_LENGTH
    )
    name, signature = _split_signature(key, limits)
    stem = re.sub(allowed, separator, name)[:stem_length].strip("_-") or "call"
    return f"{stem}{separator}{letters[:_HASH_LENGTH]}{signature}"


def _style_for(limits: Limits) -> str:
    """Return the style of generated ids, or the first whose ids match the pattern of the target."""
    pattern, wanted = limits.call_id_pattern, limits.call_id_style
    if pattern is None:
        return wanted
    fitting = (one for one in (wanted, *SAMPLES) if re.fullmatch(pattern, SAMPLES[one]))
    return next(fitting, wanted)


def _split_signature(key: str, limits: Limits) -> tuple[str, str]:
    """Return an id without the thought signature at its end, and this end; empty if not sent."""
    is_free = limits.call_id_pattern is None and limits.max_call_id_length is None
    if not is_free or limits.thought_signatures == "any":
        return key, ""
    signature = signature_in_id(key)
    if signature is None:
        return key, ""
    end = f"{ID_SEPARATOR}{signature}"
    return key.removesuffix(end), end


def call_ids_of(window: Window) -> set[str]:
    """Return the ids of all calls in a window."""
    return {
        call.id for message in window.messages for call in message.calls if isinstance(call.id, str)
    }


def _has_invalid_id(part: Part) -> TypeGuard[ToolResult]:
    return isinstance(part, ToolResult) and not isinstance(part.call_id, str | None)


def rename_calls(
    window: Window,
    choose: Callable[[ToolCall], object],
    why: str,
    *,
    removes_invalid: bool = False,
) -> Iterator[Fix]:
    """Give each call the id that ``choose`` returns, and its result the same id.

    A call for which ``choose`` returns the current id stays unchanged. ``removes_invalid``: a
    result that belongs to no call by its id loses an id that is not a string.
    """
    calls = [call for message in window.messages for call in message.calls if call.awaits_result]
    chosen = [choose(call) for call in calls]
    if not removes_invalid and all(new is call.id for call, new in zip(calls, chosen, strict=True)):
        return
    new_ids = iter(chosen)
    waiting: dict[str, deque[object]] = {}
    last: dict[str, object] = {}
    for at, message in enumerate(window.messages):
        parts = list(message.parts)
        for part_at, part in enumerate(parts):
            if isinstance(part, ToolCall) and part.awaits_result:
                new = next(new_ids)
                waiting.setdefault(equality_key(part.id), deque()).append(new)
                parts[part_at] = part if new is part.id else replace(part, id=new)
            elif (
                isinstance(part, ToolResult)
                and not part.legacy
                and (key := equality_key(part.call_id)) in waiting
            ):
                last[key] = new = waiting[key].popleft() if waiting[key] else last[key]
                parts[part_at] = (
                    part
                    if new is part.call_id or new == part.call_id
                    else replace(part, call_id=new)
                )
            elif removes_invalid and _has_invalid_id(part):
                parts[part_at] = replace(part, call_id=None)
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(tuple(parts)),), why)
