"""Finds and removes keys in nested JSON values; each object and list is visited once."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTAINERS = (dict, list)


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object in a nested value, the outer ones first; works without recursion."""
    waiting: list[Any] = [value]
    seen = set[int]()
    for held in waiting:  # the loop appends to this list
        if not isinstance(held, _CONTAINERS) or id(held) in seen:
            continue
        seen.add(id(held))
        if isinstance(held, dict):
            yield held
        inner = held.values() if isinstance(held, dict) else held
        waiting += [item for item in inner if isinstance(item, _CONTAINERS)]


def has_key(value: object, key: str) -> bool:
    """Return whether an object in a nested value has a key."""
    return any(key in held for held in objects(value))


def without_key(value: object, key: str) -> tuple[object, list[object]]:
    """Return a nested value without a key, and the values that the key had.

    The nesting must not be too deep for recursion. Objects and lists without the key are the same
    objects, and items of lists keep their positions.
    """
    dropped: list[object] = []
    known: dict[int, object] = {}

    def copy(held: Any) -> Any:  # noqa: ANN401 - any JSON value
        if not isinstance(held, _CONTAINERS):
            return held
        if id(held) not in known:
            known[id(held)] = rebuild(held)
        return known[id(held)]

    def rebuild(held: Any) -> Any:  # noqa: ANN401
        if isinstance(held, list):
            items = [copy(item) for item in held]
            return held if all(map(is_, items, held)) else items
        if key in held:
            dropped.append(held[key])
        kept = {name: copy(item) for name, item in held.items() if name != key}
        is_kept = len(kept) == len(held) and all(map(is_, kept.values(), held.values()))
        return held if is_kept else kept

    return copy(value), dropped
