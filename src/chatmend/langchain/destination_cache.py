"""A cache of the destination of a model, which is kept until the model or the call changes."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from chatmend.langchain.partners import find_destination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.language_models import BaseChatModel

    from chatmend.langchain.partners import Destination

_IGNORED_OPTIONS = frozenset({"run_manager", "stop"})
"""Options that differ from call to call and do not affect the destination."""
SETTINGS = "_chatmend_settings"
"""The key of the settings in the ``__dict__`` of a model; they contain this cache.

They are not a field, so that the fields of a wrapped model are those of its class.
"""


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """A destination, with the state of the model and the options it was determined from."""

    cls: type
    fields: Callable[[Any], Any]
    values: tuple[Any, ...]
    options: dict[str, Any]
    destination: Destination

    def matches(self, model: BaseChatModel, options: dict[str, Any]) -> bool:
        """Return whether the model and the options are the same as those of this entry."""
        if model.__class__ is not self.cls:
            return False
        try:
            return bool(self.fields(model.__dict__) == self.values and options == self.options)
        except Exception:  # noqa: BLE001 - a field was removed, or the `==` of its value failed
            return False


class DestinationCache:
    """The last destination of a model.

    Copies of a model may share a cache, because entries are matched by the model's fields.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        """Create an empty cache."""
        self._last: _CacheEntry | None = None

    def find_destination(
        self, model: BaseChatModel, options: Mapping[str, Any], target_name: str | None
    ) -> Destination:
        """Return the destination of a call, as ``partners.find_destination`` does.

        Every call of one cache passes the same ``target_name``. Only models of the partner
        packages are cached, because nothing but their fields determines their destination.

        Raises:
            TargetError: no table describes the named target.
        """
        relevant = {name: value for name, value in options.items() if name not in _IGNORED_OPTIONS}
        last = self._last
        if last is not None and last.matches(model, relevant):
            return last.destination
        destination = find_destination(model, options, target_name)
        names = [name for name in model.__dict__ if name != SETTINGS]
        if type(model).__module__.startswith("langchain_") and len(names) > 1:
            read_fields = itemgetter(*names)
            values = tuple(map(_snapshot, read_fields(model.__dict__)))
            self._last = _CacheEntry(
                type(model),
                read_fields,
                values,
                {name: _snapshot(relevant[name]) for name in relevant},
                destination,
            )
        return destination


def _snapshot(value: Any) -> Any:
    """Copy nested dicts and lists, so that a later change in place is noticed."""
    if value.__class__ is dict:
        return {name: _snapshot(item) for name, item in value.items()}
    return [_snapshot(item) for item in value] if value.__class__ is list else value
