"""A Responses API item whose id is invalid for its type, too long, or a duplicate.

Why: ``Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.`` and ``Duplicate item
found with id rs_x. Remove duplicate items from your input and try again.`` (OpenAI Responses).
Converters use the call id, or the id of another provider, as the item id.

Repair: The id is removed, and the item is sent without one. Calls and results are matched by
``call_id``, which is unchanged. A ``status`` is removed too if it is null or invalid, or if the id
was removed. An item that cannot be sent without its id, such as ``mcp_call``, gets a new one, and
references to it follow. A reference to an item that the request holds, or to which it refers
already, is removed.

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
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Fix
from chatmend.dialects.entries import (
    LONGEST_ID,
    has_wrong_status,
    is_legal_id,
    missing_keys,
    needs_id,
    new_item_id,
)
from chatmend.rules.rule import Rule
from chatmend.transcript import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory, Window

_STATUS_TYPES = (None, "message", "function_call", "function_call_output", "reasoning")
"""Types of items whose valid statuses are known."""
_APPROVALS = {"type": "mcp_approval_request"}


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove or replace invalid ids and statuses."""
    if context.limits.roles is None or not context.traits.messages_are_items:
        return
    seen: set[str] = set()
    for at, message in enumerate(window.messages):
        native = message.extra
        kind, item_id = message.kind, native.get("id")
        is_new = isinstance(item_id, str) and item_id not in seen and item_id not in memory.item_ids
        if kind == REFERENCE:
            if isinstance(item_id, str) and not is_new and context.limits.item_ids:
                yield Fix(at, at + 1, (), "the request has the item of this reference already")
            elif isinstance(item_id, str):
                seen.add(item_id)
            continue
        if isinstance(item_id, str):
            seen.add(item_id)
        has_invalid_id = (
            context.limits.item_ids and "id" in native and not (is_new and is_legal_id(native))
        )
        becomes, why = _with_approval_id(message, context), ""
        if becomes is not message:
            why = "the id of the approval request is invalid"
        if has_invalid_id:
            why = "the item id is invalid or a duplicate"
            if needs_id(kind):
                new_id = _new_id(native, seen | memory.item_ids)
                becomes = context.dialect.read({**becomes.extra, "id": new_id})
                seen.add(new_id)
            else:
                becomes = replace(becomes, omitted_keys=_omitted_with_id(native))
        if _has_invalid_status(becomes.kept_keys):
            why = why or "the item status is invalid"
            becomes = _with_valid_status(becomes, context)
        if why:
            yield Fix(at, at + 1, (becomes,), why)


def _omitted_with_id(native: dict[str, Any]) -> frozenset[str]:
    """Return the keys that an item loses with its id: its status too, unless it must have one."""
    without = {key: value for key, value in native.items() if key not in ("id", "status")}
    return frozenset({"id", "status"} & native.keys()) - missing_keys(without)


def _has_invalid_status(native: dict[str, Any]) -> bool:
    return native.get("status", "") is None or (
        native.get("type") in _STATUS_TYPES and has_wrong_status(native)
    )


def _with_valid_status(message: Message, context: Context) -> Message:
    """Return the item without its status, or completed if it must have one."""
    kept = message.kept_keys
    without = {key: value for key, value in kept.items() if key != "status"}
    if "status" in missing_keys(without):
        return context.dialect.read({**kept, "status": "completed"})
    return replace(message, omitted_keys=message.omitted_keys | {"status"})


def _new_id(native: dict[str, Any], used: set[str]) -> str:
    """Return an id made from the old one or, if that is a duplicate, from the whole item."""
    old = native["id"]
    is_illegal = isinstance(old, str) and bool(old) and not is_legal_id(native)
    seed = str(old) if is_illegal else jsontext.dumps(native)
    new_id = new_item_id(native, seed)
    count = 0
    while new_id in used:
        count += 1
        new_id = new_item_id(native, f"{seed}{count}")
    return new_id


def _with_approval_id(message: Message, context: Context) -> Message:
    """Return the item with the id that its approval request is sent with."""
    old = message.extra.get("approval_request_id")
    if not context.limits.item_ids or not isinstance(old, str) or not old:
        return message
    if is_legal_id({**_APPROVALS, "id": old}):
        return message
    new_id = new_item_id(_APPROVALS, old)
    return context.dialect.read({**message.extra, "approval_request_id": new_id})


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of item ids: the prefix shows whether an id fits the type of its item."""
    return (
        (lambda item_id: (item_id[:4], len(item_id) > LONGEST_ID))
        if traits.messages_are_items and limits.item_ids
        else None
    )


RULE = Rule("ITEM001", "invalid-item-id", find, {"ids": _judge})
