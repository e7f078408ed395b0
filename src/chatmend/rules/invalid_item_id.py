"""A Responses API item whose id is invalid for its type, too long, or a duplicate.

Why: ``Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.`` and ``Duplicate item
found with id rs_x. Remove duplicate items from your input and try again.`` (OpenAI Responses).
Converters use the call id, or the id of another provider, as the item id.

Repair: The id is removed, and the item is sent without one. Calls and results are matched by
``call_id``, which is unchanged. A ``status`` is removed too if it is null or invalid, or if the id
was removed.

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

_ID_REQUIRED = frozenset({"item_reference", "image_generation_call", "local_shell_call_output"})
"""Types of items that cannot be sent without their id."""
_STATUS_TYPES = (None, "message", "function_call", "function_call_output", "reasoning")
"""Types of items whose valid statuses are known."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove invalid ids and statuses."""
    if context.limits.roles is None or not context.traits.messages_are_items:
        return
    seen: set[str] = set()
    for at, message in enumerate(window.messages):
        native = message.extra
        kind = native.get("type")
        if isinstance(kind, str) and kind in _ID_REQUIRED:
            continue
        item_id = native.get("id")
        is_new = isinstance(item_id, str) and item_id not in seen and item_id not in memory.item_ids
        if isinstance(item_id, str):
            seen.add(item_id)
        has_invalid_id = (
            context.limits.item_ids and "id" in native and not (is_new and is_legal_id(native))
        )
        omitted = {"id"} if has_invalid_id else set()
        has_invalid_status = native.get("status", "") is None or (
            kind in _STATUS_TYPES and has_wrong_status(native)
        )
        omitted |= (
            {"status"} if "status" in native and (has_invalid_id or has_invalid_status) else set()
        )
        if omitted:
            becomes = replace(message, omitted_keys=frozenset(omitted))
            why = (
                "the item id is invalid or a duplicate"
                if has_invalid_id
                else "the item status is invalid"
            )
            yield Fix(at, at + 1, (becomes,), why)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of item ids: the prefix shows whether an id fits the type of its item."""
    return (
        (lambda item_id: (item_id[:4], len(item_id) > LONGEST_ID))
        if traits.messages_are_items and limits.item_ids
        else None
    )


RULE = Rule("ITEM001", "invalid-item-id", find, {"ids": _judge})
