"""Renames call ids in native messages, for windows in which nothing else is wrong.

A provider that refuses the ids of another one refuses them in every window. The rule and the
dialect repair the first window of a structure. What they changed there, at which positions, is
then repeated in each window of the same structure, without reading its messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.sketch import ID_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from chatmend.sketch import WindowSketch
    from chatmend.transcript import Message

_MAX_IDS = 16
"""The maximum number of ids in a window: each replacement copies the list that contains the id."""
_MAX_DEPTH = 4
_Path = tuple[Any, ...]


class Slot(NamedTuple):
    """The position of a call id in a message."""

    path: _Path
    """The keys and indexes that lead to it."""
    id_at: int
    """Its number among the ids of the window."""
    is_call: bool
    """Whether it is the id of a call, not of a result."""


Plan = tuple[tuple[int, tuple[Slot, ...]], ...]
"""The slots of each message of a window that has some, by the index of the message."""


class Renaming(NamedTuple):
    """How the ids of windows of one structure are renamed."""

    plan: Plan
    id_class: object
    """The class of all new ids. With ids of another class, other rules may be due."""


def make_plan(messages: Sequence[Message], counts: Sequence[int], ids: list[str]) -> Plan | None:
    """Find the ids of the calls and results of a window; None if one cannot be found for certain.

    Args:
        messages: the messages of the window.
        counts: how many ids of the sketch each message has.
        ids: the ids of the sketch.
    """
    calls = [part.id for message in messages for part in message.calls if part.awaits_result]
    if len(ids) > _MAX_IDS or len(set(map(repr, calls))) < len(calls):
        return None
    plan, start = [], 0
    for at, (message, count) in enumerate(zip(messages, counts, strict=True)):
        slots = _find_slots(message, ids, range(start, start + count))
        if slots is None:
            return None
        if slots:
            plan.append((at, slots))
        start += count
    return tuple(plan)


def _find_slots(message: Message, ids: list[str], numbers: range) -> tuple[Slot, ...] | None:
    wanted = [(part.id, True) for part in message.calls if part.awaits_result]
    if wanted and not message.is_assistant:
        return None
    wanted += [(part.call_id, False) for part in message.results if not part.legacy]
    if not wanted:
        return ()
    native, slots = message.native, []
    if message.list_item.__class__ is not dict or native is not message.list_item:
        return None  # a message object of a library
    if message.calls and message.results:
        return None
    paths = list(_paths(native))
    for value, is_call in wanted:
        found = [path for path, held in paths if held == value]
        at = [number for number in numbers if ids[number] == value]
        if len(found) != 1 or len(at) != 1:
            return None
        slots.append(Slot(found[0], at[0], is_call))
    return tuple(slots)


def _paths(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, str]]:  # noqa: ANN401 - JSON
    """Yield the path of each value under a key of ids, and the value."""
    if len(path) > _MAX_DEPTH:
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        if isinstance(item, str):
            if key in ID_KEYS:
                yield (*path, key), item
        elif isinstance(item, dict | list):
            yield from _paths(item, (*path, key))


def apply_plan(
    plan: Plan, natives: Sequence[Any], ids: list[str], rename: Callable[[str], object]
) -> Iterator[tuple[int, Any]]:
    """Yield the index and the new form of each message whose ids change.

    ``rename`` returns the id of a call; it is called once for each call, in order.
    """
    renamed: dict[str, object] = {}
    for at, slots in plan:
        native = becomes = natives[at]
        for path, number, is_call in slots:
            old = ids[number]
            if is_call:
                renamed[old] = rename(old)
            new = renamed.get(old, old)
            if new != old:
                becomes = _with_value(becomes, path, new)
        if becomes is not native:
            yield at, becomes


def _with_value(holder: Any, path: _Path, value: object) -> Any:  # noqa: ANN401
    key, rest = path[0], path[1:]
    copy = holder.copy()
    copy[key] = _with_value(holder[key], rest, value) if rest else value
    return copy


def learn(
    plan: Plan,
    window: WindowSketch,
    natives: Sequence[Any],
    becomes: list[Any],
    judge: Callable[[str], object] | None,
) -> Renaming | None:
    """Return the renaming that makes of a window what the rule and the dialect made of it.

    None if the plan makes something else of it, or if the new ids have different classes.
    """
    if len(becomes) != len(natives):
        return None
    chosen = {
        window.ids[number]: _value_at(becomes[at], path)
        for at, slots in plan
        for path, number, is_call in slots
        if is_call
    }
    out = list(natives)
    for at, native in apply_plan(plan, natives, window.ids, chosen.__getitem__):
        out[at] = native
    # In a repr, keys are in order and 1 is not True.
    is_same = all(
        one is other or (one is not old and repr(one) == repr(other))
        for one, other, old in zip(out, becomes, natives, strict=True)
    )
    classes = {judge(new) if judge else None for old, new in chosen.items() if new != old}
    return Renaming(plan, classes.pop()) if is_same and len(classes) == 1 else None


def _value_at(holder: Any, path: _Path) -> Any:  # noqa: ANN401
    for key in path:
        if not isinstance(holder, dict | list):
            return ""
        try:
            holder = holder[key]
        except (LookupError, TypeError):
            return ""
    return holder if isinstance(holder, str) else ""
