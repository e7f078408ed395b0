"""Removes and restores cache markers, which move from turn to turn while messages stay the same.

Anthropic's ``cache_control`` is a key of a message or part; Bedrock's ``cachePoint`` is a separate
part. A provider's cache does not compare them. They are therefore removed before messages are
compared and stored, and restored at their positions in the last request.
"""

from __future__ import annotations

from typing import Any

KEY, PART = "cache_control", "cachePoint"
KEY_HINT, PART_HINT = KEY.encode(), PART.encode()
"""A block that contains neither of these has no marker."""

Marker = list[Any]
"""``[path, position, value]``.

The path leads to the dict or list that contains the marker, the position is its index there.
"""


def without_markers(message: Any, index: int) -> tuple[Any, list[Marker]]:  # noqa: ANN401
    """Return a message without markers, and its markers; the same object if it has none."""
    removed: list[Marker] = []
    try:
        return _strip(message, [index], removed), removed
    except RecursionError:
        return message, []


def _strip(value: Any, path: list[Any], removed: list[Marker]) -> Any:  # noqa: ANN401
    if type(value) is dict:
        return _strip_dict(value, path, removed)
    if type(value) is list:
        return _strip_list(value, path, removed)
    return value


def _strip_dict(value: dict[Any, Any], path: list[Any], removed: list[Marker]) -> dict[Any, Any]:
    known = len(removed)
    out = {}
    for position, (key, inner) in enumerate(value.items()):
        if key == KEY and _can_be_marked(value):
            removed.append([list(path), position, inner])
        else:
            out[key] = _strip(inner, [*path, key], removed) if key in _CONTAINERS else inner
    return out if len(removed) > known else value


def _strip_list(value: list[Any], path: list[Any], removed: list[Marker]) -> list[Any]:
    known = len(removed)
    out: list[Any] = []
    for position, inner in enumerate(value):
        if type(inner) is dict and tuple(inner) == (PART,):
            removed.append([list(path), position, inner])
        else:
            out.append(_strip(inner, [*path, position], removed))
    return out if len(removed) > known else value


_CONTAINERS = frozenset({"content", "toolResult"})
"""The keys that contain parts.

In other values, such as tool arguments, a key named ``cache_control`` is not a marker.
"""


def _can_be_marked(value: dict[Any, Any]) -> bool:
    return "role" in value or "type" in value


def with_markers(messages: list[Any], markers: tuple[Any, ...]) -> list[Any]:
    """Return the messages with markers at their positions; messages with markers are copies.

    Raises:
        LookupError: the path of a marker does not exist.
        TypeError: the path of a marker leads to a value that cannot contain it.
    """
    if not markers:
        return messages
    out = list(messages)
    for path, position, value in markers:
        _insert(out, path, (position, value))
    return out


def _insert(holder: Any, path: list[Any], marker: tuple[int, Any]) -> None:  # noqa: ANN401
    """Insert a marker, and copy each container on the path, because callers may share it."""
    for step in path:
        holder[step] = holder[step].copy()
        holder = holder[step]
    position, value = marker
    if type(holder) is list:
        holder.insert(position, value)
    else:
        items = list(holder.items())
        items.insert(position, (KEY, value))
        holder.clear()
        holder.update(items)
