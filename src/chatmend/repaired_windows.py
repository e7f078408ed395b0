"""Windows of message objects that were repaired before.

An agent sends the same message objects with each request, and the same windows are broken. Messages
can be changed in place, so their fields are compared with a copy of them; texts are not copied.
Nothing here keeps a message of the caller alive.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.changes import Change

_MAX_WINDOWS = 256
_MAX_WINDOW = 32
"""Longer windows are repaired anew."""
_MAX_VALUES = 256
"""A message with more values in its fields is read anew."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


class _TooManyValuesError(Exception):
    """A message has too many values, or one of another class than JSON has."""


class Snapshot:
    """A copy of the fields of a message object."""

    __slots__ = ("_fields", "_reference")

    def __init__(self, native: Any, when_freed: Callable[[Any], object]) -> None:  # noqa: ANN401
        """Copy the fields; ``when_freed`` is called when the object is freed.

        Raises:
            TypeError: the object has no fields, or no weak reference.
            _TooManyValuesError: it has too many values, or a value of another class.
        """
        self._reference = weakref.ref(native, when_freed)
        self._fields = _copy(native.__dict__, [_MAX_VALUES])

    def is_of(self, native: Any) -> bool:  # noqa: ANN401 - any message object
        """Whether this is the object, and its fields have not changed."""
        try:
            return self._reference() is native and native.__dict__ == self._fields
        except Exception:  # noqa: BLE001 - of the `==` of a new value
            return False


def _copy(value: Any, room: list[int]) -> Any:  # noqa: ANN401 - any value of a field
    """Copy nested dicts and lists; ``room`` holds how many more values there may be."""
    kind = value.__class__
    if kind in _SCALARS:
        return value
    room[0] -= len(value) if kind is dict or kind is list else _MAX_VALUES + 1
    if room[0] < 0:
        raise _TooManyValuesError
    if kind is dict:
        return {key: _copy(item, room) for key, item in value.items()}
    return [_copy(item, room) for item in value]


class Repair(NamedTuple):
    """The repair of a window."""

    becomes: tuple[Any, ...]
    """The messages after the repair."""
    changes: tuple[Change, ...]
    call_ids: frozenset[str]
    """The call ids that the memory of the repair has got."""
    has_user: bool
    has_turns: bool
    """The facts in the memory after the window."""


class _KnownWindow(NamedTuple):
    """A repair in which the position of a message stands for each message of the caller."""

    start: int
    repair: Repair
    snapshots: tuple[Snapshot, ...]
    added: tuple[Any, ...]
    """The messages that the repair added, with their snapshots after those of the caller's."""


class RepairedWindows:
    """Windows of message objects that were repaired before. Threads share it."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Start with no windows."""
        self._known: dict[tuple[object, ...], _KnownWindow] = {}

    def find(self, key: tuple[object, ...], natives: Sequence[Any], start: int) -> Repair | None:
        """Return the repair of a window whose messages have not changed since.

        ``key`` is all else that the repair depends on. The window starts at ``start``.
        """
        known = self._known.get((*key, *map(id, natives)))
        if known is None:
            return None
        if not all(map(Snapshot.is_of, known.snapshots, (*natives, *known.added))):
            return None
        moved, repair = start - known.start, known.repair
        changes = tuple(
            replace(
                change,
                index=None if change.index is None else change.index + moved,
                before=_with_objects(change.before, natives),
                after=_with_objects(change.after, natives),
                window=change.window and (change.window[0] + moved, change.window[1] + moved),
            )
            for change in repair.changes
        )
        becomes = _with_objects(repair.becomes, natives)
        return repair._replace(becomes=becomes, changes=changes)

    def remember(
        self, key: tuple[object, ...], natives: Sequence[Any], start: int, repair: Repair
    ) -> None:
        """Remember a repair that depends on nothing but the key and the messages."""
        if len(natives) > _MAX_WINDOW:
            return
        whole = (*key, *map(id, natives))
        positions = {id(native): at for at, native in enumerate(natives)}
        stored = repair._replace(
            becomes=_with_positions(repair.becomes, positions),
            changes=tuple(
                replace(
                    change,
                    before=_with_positions(change.before, positions),
                    after=_with_positions(change.after, positions),
                )
                for change in repair.changes
            ),
        )
        added = tuple(native for native in repair.becomes if id(native) not in positions)
        forget = partial(self._known.pop, whole)
        try:
            snapshots = tuple(Snapshot(one, forget) for one in (*natives, *added))
        except (TypeError, _TooManyValuesError):
            return
        if len(self._known) >= _MAX_WINDOWS:
            self._known.clear()
        self._known[whole] = _KnownWindow(start, stored, snapshots, added)


def _with_positions(natives: Sequence[Any], positions: dict[int, int]) -> tuple[Any, ...]:
    return tuple(positions.get(id(native), native) for native in natives)


def _with_objects(stored: Sequence[Any], natives: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(natives[one] if one.__class__ is int else one for one in stored)
