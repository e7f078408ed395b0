"""An entry with an id that is not one of its type, is too long, or occurred before.

Why: ``Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.`` and ``Duplicate item found with id rs_x.
Remove duplicate items from your input and try again.`` (OpenAI Responses). Converters put the call's id there, or that of
another provider.

Repair: the id goes; the entry is sent as a plain one. Calls and results are matched by ``call_id``, which stays. A
``status`` of null goes too.

Before (openai/gpt-4.1):
    [{"role": "user", "content": "go"},
     {"type": "function_call", "id": "call_1", "call_id": "call_1", "name": "f", "arguments": "{}"},
     {"type": "function_call_output", "call_id": "call_1", "output": "done"}]
After:
    [{"role": "user", "content": "go"},
     {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
     {"type": "function_call_output", "call_id": "call_1", "output": "done"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.dialects.entries import LONGEST_ID, has_wrong_status, is_legal_id
from chatmend.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_NEEDS_ONE = frozenset({"item_reference", "image_generation_call", "local_shell_call_output"})
"""Entries that are nothing without their id."""
_PLAIN = (None, "message", "function_call", "function_call_output", "reasoning")
"""Entries whose statuses are known."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Ids to be left out."""
    if context.limits.roles is None or not context.traits.items:
        return
    seen: set[str] = set()
    for at, message in enumerate(window.messages):
        native = message.extra
        kind = native.get("type")
        if isinstance(kind, str) and kind in _NEEDS_ONE:
            continue
        item_id = native.get("id")
        fresh = isinstance(item_id, str) and item_id not in seen and item_id not in memory.item_ids
        if isinstance(item_id, str):
            seen.add(item_id)
        wrong = context.limits.item_ids and "id" in native and not (fresh and is_legal_id(native))
        without = {"id"} if wrong else set()
        odd = native.get("status", "") is None or (kind in _PLAIN and has_wrong_status(native))
        without |= {"status"} if "status" in native and (wrong or odd) else set()
        if without:
            becomes = replace(message, without=frozenset(without))
            why = "the entry's id is none of its type, or is taken" if wrong else "the entry's status is none"
            yield Fix(at, at + 1, (becomes,), why)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    """An id is of its type by how it begins."""
    return (lambda item_id: (item_id[:4], len(item_id) > LONGEST_ID)) if traits.items and limits.item_ids else None


RULE = Rule("ITEM001", "invalid-item-id", find, {"ids": _judge})
