"""Cache markers, which move from turn to turn while the messages stay.

Anthropic's ``cache_control`` is a key of a message or part, Bedrock's ``cachePoint`` a part of its own. They are no
part of what a provider's cache compares: they are taken off before messages are compared and stored, and put on again
where the last request had them.
"""

from __future__ import annotations

from typing import Any

KEY, PART = "cache_control", "cachePoint"
KEY_HINT, PART_HINT = KEY.encode(), PART.encode()
"""A block without either of these has no marker."""

Marker = list[Any]
"""``[path, place, value]``: the path of the dict or list that it was in, its place there, and the marker."""


def without_markers(message: Any, at: int) -> tuple[Any, list[Marker]]:  # noqa: ANN401 - whatever is sent
    """A message without markers, and what was taken off; the same object where there is none."""
    taken: list[Marker] = []
    try:
        return _off(message, [at], taken), taken
    except RecursionError:
        return message, []


def _off(value: Any, path: list[Any], taken: list[Marker]) -> Any:  # noqa: ANN401
    if type(value) is dict:
        return _off_dict(value, path, taken)
    if type(value) is list:
        return _off_list(value, path, taken)
    return value


def _off_dict(value: dict[Any, Any], path: list[Any], taken: list[Marker]) -> dict[Any, Any]:
    known = len(taken)
    out = {}
    for place, (key, inner) in enumerate(value.items()):
        if key == KEY and _is_marked(value):
            taken.append([list(path), place, inner])
        else:
            out[key] = _off(inner, [*path, key], taken) if key in _HOLDERS else inner
    return out if len(taken) > known else value


def _off_list(value: list[Any], path: list[Any], taken: list[Marker]) -> list[Any]:
    known = len(taken)
    out: list[Any] = []
    for place, inner in enumerate(value):
        if type(inner) is dict and tuple(inner) == (PART,):
            taken.append([list(path), place, inner])
        else:
            out.append(_off(inner, [*path, place], taken))
    return out if len(taken) > known else value


_HOLDERS = frozenset({"content", "toolResult"})
"""Where parts are: what a tool was called with may have a key of the same name, and is no marker."""


def _is_marked(value: dict[Any, Any]) -> bool:
    return "role" in value or "type" in value


def with_markers(messages: list[Any], markers: tuple[Any, ...]) -> list[Any]:
    """The messages with the markers where they were; those that are marked are new objects.

    Raises:
        LookupError: a marker's path leads nowhere.
        TypeError: a marker's path leads to something that cannot hold it.
    """
    if not markers:
        return messages
    out = list(messages)
    for path, place, value in markers:
        _on(out, path, (place, value))
    return out


def _on(holder: Any, path: list[Any], marker: tuple[int, Any]) -> None:  # noqa: ANN401
    """Copy each container on the way, so that none that someone else holds is changed."""
    for step in path:
        holder[step] = holder[step].copy()
        holder = holder[step]
    place, value = marker
    if type(holder) is list:
        holder.insert(place, value)
    else:
        items = list(holder.items())
        items.insert(place, (KEY, value))
        holder.clear()
        holder.update(items)
