"""How a call gets an id that the target takes: decided when it is first seen, never because of what comes later."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.jsontext import identity
from chatmend.transcript import ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.targets import Limits
    from chatmend.windows import Memory, Window

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SPELLED = 62**9
"""How many numbers nine letters and digits can spell: a small number is taken apart faster."""
_HASH = 8
_LONGEST = 40


def mint(original: object, memory: Memory, limits: Limits, taken: set[str]) -> str:
    """A new id for a call known as ``original``: a hash of that and of how often it was asked for."""
    key = original if isinstance(original, str) else identity(original)
    while True:
        count = memory.id_counts.get(key, 0)
        memory.id_counts[key] = count + 1
        candidate = _spelled(key, count, limits)
        if candidate not in memory.call_ids and candidate not in taken:
            taken.add(candidate)
            return candidate


def described(call: ToolCall) -> str:
    """What a call without an id is known by: its name and its arguments."""
    name, arguments = (said if isinstance(said, str) else identity(said) for said in (call.name, call.arguments))
    return f"{name}({arguments})"


def _spelled(key: str, count: int, limits: Limits) -> str:
    from hashlib import sha256  # noqa: PLC0415 - `import chatmend` stays fast

    number = int.from_bytes(sha256(f"{key}\0{count}".encode("utf-8", "surrogatepass")).digest()) % _SPELLED
    letters = ""
    for _ in range(9):
        number, digit = divmod(number, 62)
        letters += _BASE62[digit]
    if limits.call_id_style == "alnum9":
        return letters
    separator = "" if limits.call_id_style == "alnum" else "_"
    allowed = r"[^A-Za-z0-9]" if not separator else r"[^A-Za-z0-9_-]"
    longest = min(limits.max_call_id_length or _LONGEST, _LONGEST) - len(separator) - _HASH
    stem = re.sub(allowed, separator, key)[:longest].strip("_-") or "call"
    return f"{stem}{separator}{letters[:_HASH]}"


def taken_ids(window: Window) -> set[str]:
    """The ids that the calls of a window have."""
    return {call.id for message in window.messages for call in message.calls if isinstance(call.id, str)}


def rename(window: Window, choose: Callable[[ToolCall], object], why: str) -> Iterator[Fix]:
    """Give calls the ids that ``choose`` says (the same one: leave it), and the results that answer them along."""
    waiting: dict[str, deque[object]] = {}
    last: dict[str, object] = {}
    for at, message in enumerate(window.messages):
        parts = list(message.parts)
        for place, part in enumerate(parts):
            if isinstance(part, ToolCall) and not part.legacy:
                new = choose(part)
                waiting.setdefault(identity(part.id), deque()).append(new)
                parts[place] = part if new is part.id else replace(part, id=new)
            elif isinstance(part, ToolResult) and not part.legacy and (key := identity(part.call_id)) in waiting:
                last[key] = new = waiting[key].popleft() if waiting[key] else last[key]
                parts[place] = part if new is part.call_id or new == part.call_id else replace(part, call_id=new)
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (replace(message, parts=tuple(parts)),), why)
