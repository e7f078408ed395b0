"""Ids under which OpenAI's Responses API knows what it wrote: each is sent once in a request.

A message that is in a history twice (a checkpoint merged with itself, a branch replayed) repeats them. The second
occurrence is sent as a plain item; reasoning, which is nothing without its id, was said by the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.langchain.calls import is_call
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

_ITEM_CALLS = frozenset({"function_call", "custom_tool_call"})
"""Call blocks whose ``id`` names the item. Of every other call block it is the id of the call."""
_SPLIT = frozenset({"text", "output_text", "refusal"})
"""Blocks of which several may share an id: together they are one item."""
_ONLY_ITS_ID = frozenset({"reasoning", "image_generation_call"})
"""Items that are nothing without their id."""


class Items:
    """The ids of a request so far, with the block that each was met on."""

    def __init__(self) -> None:
        """Nothing was sent yet."""
        self._sent: dict[str, dict[str, Any]] = {}

    def once(self, blocks: list[Any], may: Callable[[Effect], bool]) -> list[Any]:
        """The blocks of one answer, without ids that an earlier item has; the same list where there are none.

        ``may``: whether the caller permits an effect.
        """
        met: dict[str, dict[str, Any]] = {}
        out: list[Any] = []
        for block in blocks:
            key = _item_id(block)
            first = None if key is None else self._sent.get(key) or (None if block["type"] in _SPLIT else met.get(key))
            if key is None or first is None:
                out.append(block)
            elif block["type"] not in _ONLY_ITS_ID:
                out.append(_without_id(block) if may(Effect.RESHAPES) else block)
            elif not may(Effect.RESHAPES if block == first else Effect.DROPS):
                out.append(block)
            if key is not None:
                met.setdefault(key, block)
        self._sent.update(met)
        return blocks if is_unchanged(blocks, out) else out


def _item_id(block: Any) -> str | None:
    if block.__class__ is not dict or not isinstance(block.get("type"), str):
        return None
    if is_call(block) and block["type"] not in _ITEM_CALLS:
        extras = block.get("extras")
        found = extras.get("item_id") if isinstance(extras, dict) else None
    else:
        found = block.get("id")
    return found if isinstance(found, str) and found else None


def _without_id(block: dict[str, Any]) -> dict[str, Any]:
    if is_call(block) and block["type"] not in _ITEM_CALLS:
        return {**block, "extras": {key: value for key, value in block["extras"].items() if key != "item_id"}}
    return {key: value for key, value in block.items() if key != "id"}
