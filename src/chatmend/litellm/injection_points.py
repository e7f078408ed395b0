"""LiteLLM's ``cache_control_injection_points`` after a repair.

LiteLLM adds a cache marker to the message with a given index, after the repair. So the index must
follow its message when the repair inserts, moves or drops others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "cache_control_injection_points"


def move_points(points: Any, before: list[Any], after: list[Any]) -> Any:
    """Return the points with the indexes that their messages have in the repaired list.

    Points without an index, and those whose index is outside of the list, select what they selected
    before. The same object is returned if no index changes.

    Args:
        points: the value of the parameter, which may be malformed.
        before: the messages of the caller.
        after: the repaired messages.
    """
    if not isinstance(points, list):
        return points
    moved = [_move(point, before, after) for point in points]
    return points if moved == points else moved


def _move(point: Any, before: list[Any], after: list[Any]) -> Any:
    index = _index_of(point) if isinstance(point, dict) else None
    if index is None:
        return point
    if not -len(before) <= index < len(before):
        grown = len(after) - len(before)
        return {**point, "index": index + grown if index >= 0 else index - grown}
    new = _new_index(index % len(before), before, after)
    new = new if index >= 0 else new - len(after)
    return point if new == index else {**point, "index": new}


def _index_of(point: Mapping[str, Any]) -> int | None:
    """Return the index of a point for messages, which may be written as a string."""
    index = point.get("index") if point.get("location") == "message" else None
    if isinstance(index, str):
        try:
            return int(index)
        except ValueError:
            return None
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _new_index(index: int, before: list[Any], after: list[Any]) -> int:
    """Return the index in ``after`` of the message that ``before[index]`` became.

    An unchanged message is the same object. A rewritten one is searched between its unchanged
    neighbours: the message with as many others of its role behind it as before.
    """
    places = _unchanged(before, after)
    if index in places:
        return places[index]
    previous = max((at for at in places if at < index), default=None)
    following = min((at for at in places if at > index), default=None)
    start = 0 if previous is None else places[previous] + 1
    stop = len(after) if following is None else places[following]
    role = _role_of(before[index])
    end = len(before) if following is None else following
    behind = len([message for message in before[index + 1 : end] if _role_of(message) == role])
    same = [at for at in range(start, stop) if _role_of(after[at]) == role]
    if same:
        return same[max(len(same) - 1 - behind, 0)]
    return max(min(stop, len(after)) - 1, 0)


def _unchanged(before: list[Any], after: list[Any]) -> dict[int, int]:
    """Return, for each message that is the same object in both lists, its index in both."""
    found: dict[int, int] = {}
    at = 0
    positions = {id(message): index for index, message in enumerate(after)}
    for index, message in enumerate(before):
        place = positions.get(id(message))
        if place is not None and place >= at:
            found[index] = place
            at = place + 1
    return found


def _role_of(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else getattr(message, "role", None)
