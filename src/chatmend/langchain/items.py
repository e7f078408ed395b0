"""Removes repeated item ids, which OpenAI's Responses API refuses.

If a message occurs twice in a history (a checkpoint merged with itself, a replayed branch), its
ids are repeated. The second occurrence is sent without the id. A repeated block that is useless
without its id, such as reasoning, is dropped: the first occurrence was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.langchain.calls import is_call
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

_ITEM_CALL_TYPES = frozenset({"function_call", "custom_tool_call"})
"""Call blocks whose ``id`` is that of the item; in other call blocks it is that of the call."""
_SHARED_ID_TYPES = frozenset({"text", "output_text", "refusal"})
"""Types of blocks that may share an id, because together they are one item."""
_ID_ONLY_TYPES = frozenset({"reasoning", "image_generation_call"})
"""Types of items that are useless without their id."""


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
            elif block["type"] not in _ID_ONLY_TYPES:
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
