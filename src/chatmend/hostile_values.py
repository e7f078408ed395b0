"""Repairs messages that hold objects whose own methods raise, and containers that hold themselves.

The code of a caller can put any object into a message, and each comparison or iteration runs the
methods of that object. If one of them raises, the repair runs again with a stand-in for each such
object, and the result holds the originals again.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from chatmend.dialects import adapter_of
from chatmend.errors import ChatmendError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.changes import Change

P = ParamSpec("P")
R = TypeVar("R")

_SCALARS = frozenset({str, int, float, bool, type(None)})
_DEEPEST = 200
"""Levels of nesting below which a value is replaced as a whole."""
_CONTENT = ("messages", "body", "system", "tools", "thinking", "cache_control")
"""Names of arguments that hold content of a request."""


class StandIn:
    """Replaces a value that is carried and not examined."""

    __slots__ = ("_kind", "original")

    def __init__(self, original: object) -> None:
        """Keep the value."""
        self.original = original
        self._kind = type(original).__name__

    def __repr__(self) -> str:
        """Return the type of the value."""
        return f"<{self._kind}>"


def carries_hostile_values(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function that repairs its first argument accept values whose methods raise.

    The function returns a dataclass. It is called a second time only if it raises, and only if its
    arguments hold other values than JSON has.
    """

    @wraps(function)
    def repair(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ChatmendError:
            raise
        except Exception:
            harmless = _Harmless()
            given: list[Any] = [harmless.form_of(args[0]), *args[1:]] if args else []
            named = {
                name: harmless.form_of(value) if name in _CONTENT else value
                for name, value in kwargs.items()
            }
            if not harmless.has_replaced:
                raise
            call: Callable[..., R] = function
            return harmless.restore_result(call(*given, **named))

    return repair


def reports_hostile_values(
    function: Callable[Concatenate[Change, P], R],
) -> Callable[Concatenate[Change, P], R]:
    """Make a function of a change accept messages whose methods raise."""

    @wraps(function)
    def report(change: Change, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(change, *args, **kwargs)
        except Exception:  # noqa: BLE001 - code of the caller
            return function(without_hostile_values(change), *args, **kwargs)

    return cast("Callable[Concatenate[Change, P], R]", report)


def without_hostile_values(change: Change) -> Change:
    """Return a change with a stand-in for each value that JSON does not have."""
    harmless = _Harmless()
    before, after = (tuple(map(harmless.form_of, side)) for side in (change.before, change.after))
    return replace(change, before=before, after=after)


class _Harmless:
    """Converts values to JSON values and stand-ins, and back."""

    def __init__(self) -> None:
        self._originals: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._open: set[int] = set()
        """The containers that hold the current value."""

    @property
    def has_replaced(self) -> bool:
        return bool(self._originals)

    def form_of(self, value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any value
        """Return a value without methods of the caller; the same object if it has none."""
        kind = type(value)  # `value.__class__` may be a property that raises
        if kind in _SCALARS:
            return value
        try:
            new = self._form(value, kind, depth)
        except Exception:  # noqa: BLE001 - code of the caller
            new = StandIn(value)
        if new is not value:
            self._originals[id(new)] = value
            self._kept.append(new)
        return new

    def _form(self, value: Any, kind: type, depth: int) -> Any:  # noqa: ANN401
        if issubclass(kind, str):
            return str.__getitem__(value, slice(None))
        if not issubclass(kind, dict | list | tuple):
            is_message = adapter_of(value) is not None
            return _with_fields(value, self.form_of, depth) if is_message else StandIn(value)
        if depth > _DEEPEST or id(value) in self._open:
            return StandIn(value)
        self._open.add(id(value))
        try:
            if issubclass(kind, dict):
                return self._dict(value, kind, depth + 1)
            walk = list.__iter__ if issubclass(kind, list) else tuple.__iter__
            items = [self.form_of(item, depth + 1) for item in walk(value)]
            same = all(new is old for new, old in zip(items, walk(value), strict=True))
            return value if same and kind in (list, tuple) else items
        finally:
            self._open.discard(id(value))

    def _dict(self, value: dict[Any, Any], kind: type, depth: int) -> dict[Any, Any]:
        pairs = list(dict.items(value))
        new = {self.form_of(name, depth): self.form_of(item, depth) for name, item in pairs}
        same = all(
            name is old_name and item is old
            for (name, item), (old_name, old) in zip(new.items(), pairs, strict=True)
        )
        return value if same and kind is dict else new

    def restore(self, value: Any, depth: int = 0) -> Any:  # noqa: ANN401
        """Return a result with the original values in it; the same object if it holds none."""
        if id(value) in self._originals:
            return self._originals[id(value)]
        if depth > _DEEPEST:
            return value
        if type(value) in (list, tuple):
            items = [self.restore(item, depth + 1) for item in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else type(value)(items)
        if type(value) is dict:
            found = {
                self.restore(name): self.restore(item, depth + 1) for name, item in value.items()
            }
            same = all(new is old for new, old in zip(found.values(), value.values(), strict=True))
            return value if same else found
        if type(value) not in _SCALARS and adapter_of(value) is not None:
            return _with_fields(value, self.restore, depth)
        return value

    def restore_result(self, result: R) -> R:
        """Return a dataclass with the original values in its fields and in its changes."""
        found: Any = result
        new: dict[str, Any] = {
            field.name: self.restore(getattr(found, field.name))
            for field in fields(found)
            if field.init and field.name != "changes"
        }
        new["changes"] = tuple(
            replace(change, before=self.restore(change.before), after=self.restore(change.after))
            for change in found.changes
        )
        restored: R = replace(found, **new)
        return restored


def _with_fields(message: Any, convert: Callable[[Any, int], Any], depth: int) -> Any:  # noqa: ANN401
    """Return a message of a framework (a Pydantic model) with converted fields."""
    new = {name: convert(value, depth + 1) for name, value in vars(message).items()}
    changed = {name: value for name, value in new.items() if value is not vars(message)[name]}
    return message.model_copy(update=changed) if changed else message
