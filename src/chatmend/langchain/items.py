"""Repairs what OpenAI's Responses API refuses in items: repeated ids and missing keys.

If a message occurs twice in a history (a checkpoint merged with itself, a replayed branch), its
ids are repeated. The second occurrence is sent without the id. A repeated block that is useless
without its id, such as reasoning, is dropped: the first occurrence was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.entries import missing_keys, needs_id, with_required_keys
from chatmend.dialects.formats import ITEM_KEYS
from chatmend.langchain.calls import is_call
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

_ITEM_CALL_TYPES = frozenset({"function_call", "custom_tool_call"})
"""Call blocks whose ``id`` is that of the item; in other call blocks it is that of the call."""
_SHARED_ID_TYPES = frozenset({"text", "output_text", "refusal"})
"""Types of blocks that may share an id, because together they are one item."""
_HOSTED_ITEMS = ITEM_KEYS.keys() - {"reasoning", "message"}
"""LangChain's own blocks of reasoning have other keys than the items that they become."""


def complete_items(
    blocks: list[Any], as_text: Callable[[Any], Any], permit: Callable[[Effect], bool]
) -> list[Any]:
    """Return the blocks of an assistant message with every key that their type of item requires.

    ``as_text`` converts a block that cannot be completed. The same list if nothing changes.
    """
    out: list[Any] = []
    for block in blocks:
        is_item = block.__class__ is dict and block.get("type") in _HOSTED_ITEMS
        if not is_item or is_call(block) or not missing_keys(block):
            out.append(block)
            continue
        complete = with_required_keys(block)
        if complete is not None:
            out.append(complete if permit(Effect.RESHAPES) else block)
        else:
            out.append(as_text(block))
    return blocks if is_unchanged(blocks, out) else out


def _is_useless_without_id(block: dict[str, Any]) -> bool:
    return block["type"] == "reasoning" or needs_id(block["type"])


class SentItems:
    """The item ids of the request so far, each with its first block."""

    def __init__(self) -> None:
        """Start a request without ids."""
        self._first_blocks: dict[str, dict[str, Any]] = {}

    def remove_repeats(self, blocks: list[Any], permit: Callable[[Effect], bool]) -> list[Any]:
        """Return the blocks of an assistant message without the ids of earlier blocks.

        The same list if nothing changes. ``permit``: whether the caller permits an effect.
        """
        found: dict[str, dict[str, Any]] = {}
        out: list[Any] = []
        for block in blocks:
            key = _item_id(block)
            first = (
                None
                if key is None
                else self._first_blocks.get(key)
                or (None if block["type"] in _SHARED_ID_TYPES else found.get(key))
            )
            if key is None or first is None:
                out.append(block)
            elif not _is_useless_without_id(block):
                out.append(_without_id(block) if permit(Effect.RESHAPES) else block)
            elif not permit(Effect.RESHAPES if block == first else Effect.DROPS):
                out.append(block)
            if key is not None:
                found.setdefault(key, block)
        self._first_blocks.update(found)
        return blocks if is_unchanged(blocks, out) else out


def _item_id(block: Any) -> str | None:
    if block.__class__ is not dict or not isinstance(block.get("type"), str):
        return None
    if is_call(block) and block["type"] not in _ITEM_CALL_TYPES:
        extras = block.get("extras")
        found = extras.get("item_id") if isinstance(extras, dict) else None
    else:
        found = block.get("id")
    return found if isinstance(found, str) and found else None


def _without_id(block: dict[str, Any]) -> dict[str, Any]:
    if is_call(block) and block["type"] not in _ITEM_CALL_TYPES:
        return {
            **block,
            "extras": {key: value for key, value in block["extras"].items() if key != "item_id"},
        }
    return {key: value for key, value in block.items() if key != "id"}
