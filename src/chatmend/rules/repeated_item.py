"""A content part with the item id of an earlier part, in a history for OpenAI's Responses API.

If a message occurs twice in a history (a checkpoint merged with itself, a replayed branch), its
ids are repeated.

Why: ``Duplicate item found with id rs_1. Remove duplicate items from your input and try again.``
(OpenAI).

Repair: The later part is sent without its id. A part that is useless without its id, such as
reasoning, is removed: the earlier part was sent. This runs only in the adapter for LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.blocks import item_id, without_item_id
from chatmend.dialects.entries import needs_id
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.rules.unsendable_part import LIMIT
from chatmend.transcript import Message, Opaque, Part, Text, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

_Block = dict[str, Any]
_SHARED_ID_TYPES = frozenset({"text", "output_text", "refusal"})
"""Types of blocks that may share an id, because together they are one item."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for parts with the id of an earlier message, or of another item."""
    converter = context.limits.of(LIMIT)
    if converter is None or not converter.item_ids:
        return
    seen = set(memory.item_ids)
    for at, message in enumerate(window.messages):
        if not message.is_assistant:
            continue
        parts, effect = _without_repeats(message, seen)
        if not is_unchanged(message.parts, parts):
            why = "the item id is that of an earlier item"
            yield Fix(at, at + 1, (message.with_parts(parts),), why, effect)


def _without_repeats(message: Message, seen: set[str]) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts of an answer without the ids in ``seen``, and add its own to them."""
    out: list[Part] = []
    effect = Effect.RESHAPES
    own: set[str] = set()
    for part in message.parts:
        key = None if isinstance(part, ToolCall) else item_id(part.extra)
        kind = part.extra.get("type")
        shares_id = _shares_id(part.extra, out[-1].extra if out else {})
        if key is None or not (key in seen or (key in own and not shares_id)):
            out.append(part)
        elif kind == "reasoning" or needs_id(kind):
            effect = Effect.DROPS
        else:
            block = without_item_id(part.extra)
            out.append(replace(part, native=block) if isinstance(part, Text) else Opaque(block))
        if key is not None:
            own.add(key)
    seen |= own
    return tuple(out), effect


def _shares_id(block: _Block, before: _Block) -> bool:
    """Return whether a block becomes a part of an item that an earlier block has begun.

    In LangChain's own format each part of a summary is a block, which follows the one before it.
    """
    if block.get("type") == "reasoning":
        is_part = "reasoning" in block and "reasoning" in before and "summary" not in block
        return is_part and block.get("id") == before.get("id")
    return jsontext.is_one_of(block.get("type"), _SHARED_ID_TYPES)


RULE = Rule("ITEM004", "repeated-item", find, STRUCTURE)
