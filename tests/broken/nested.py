"""Copying, comparing and searching nested data without recursion.

Some transcripts here are thousands of levels deep: ``copy.deepcopy``, ``==``, ``repr`` and ``json`` all give up.
"""

import hashlib
from collections.abc import Iterator
from typing import Any


def copied(value: Any) -> Any:
    """``value`` with every dict and list in it made anew. The same object in two places becomes two objects."""
    root = [value]
    todo: list[Any] = [root]
    while todo:
        holder = todo.pop()
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(item, dict | list):
                holder[key] = item.copy()
                todo.append(holder[key])
    return root[0]


def same(one: Any, other: Any) -> bool:
    """Whether both are equal, keys in the same order, types included (``1`` is not ``True``)."""
    todo = [(one, other)]
    while todo:
        left, right = todo.pop()
        if left is right:
            continue
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if list(left) != list(right):
                return False
            todo.extend(zip(left.values(), right.values(), strict=True))
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            todo.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def paths(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value in ``value``, as keys and indexes; a value comes before those in it."""
    found = list[tuple[Any, ...]]()
    todo: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while todo:
        path, held = todo.pop()
        if path:
            found.append(path)
        items: list[Any] = []
        if isinstance(held, dict | list):
            items = list(held.items() if isinstance(held, dict) else enumerate(held))
        todo.extend(((*path, key), inner) for key, inner in reversed(items))
    return found


def strings(value: Any) -> Iterator[str]:
    """Every string in ``value``, keys too, in no order that one may rely on."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            todo.extend(item)
            todo.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            todo.extend(item)


def digest(value: Any) -> str:
    """A hash that is equal in every process, also for deep nesting and lone surrogates."""
    found = hashlib.sha256()
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            found.update(f"{{{len(item)}".encode())
            todo.extend(part for pair in item.items() for part in pair)
        elif isinstance(item, list):
            found.update(f"[{len(item)}".encode())
            todo.extend(item)
        else:
            found.update(f"{type(item).__name__}:{item!r};".encode("utf-8", "surrogatepass"))
    return found.hexdigest()
