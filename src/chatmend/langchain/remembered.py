"""The place of a model, remembered from its last call: a model is asked again only when something about it changed."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from chatmend.langchain.partners import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.language_models import BaseChatModel

    from chatmend.langchain.partners import Place

_PASSING = frozenset({"run_manager", "stop"})
"""What differs from call to call and says nothing about the place."""
_OWN = "mending"
"""The field of ours: it holds what is remembered."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model was when it was asked, and where it sent to."""

    kind: type
    fields: Callable[[Any], Any]
    values: tuple[Any, ...]
    options: dict[str, Any]
    place: Place

    def holds(self, model: BaseChatModel, options: dict[str, Any]) -> bool:
        """Whether the model, so called, would say the same again."""
        if model.__class__ is not self.kind:
            return False
        try:
            return bool(self.fields(model.__dict__) == self.values and options == self.options)
        except Exception:  # noqa: BLE001 - a field that is gone, or a comparison of somebody else's that fails
            return False


class Remembered:
    """The last place of a model. Copies of a model may share it: what it was is compared, not which one it is."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        """No model was asked yet."""
        self._last: _Asked | None = None

    def place_of(self, model: BaseChatModel, options: Mapping[str, Any], named: str | None) -> Place:
        """The place that a model sends to, as ``partners.place_of`` tells it; ``named`` is always the same.

        Only the partner packages' own classes are remembered: what they say of themselves hangs on their fields alone.

        Raises:
            TargetError: the named target leads to no table.
        """
        said = {name: value for name, value in options.items() if name not in _PASSING}
        last = self._last
        if last is not None and last.holds(model, said):
            return last.place
        place = place_of(model, options, named)
        names = [name for name in model.__dict__ if name != _OWN]
        if type(model).__module__.startswith("langchain_") and len(names) > 1:
            read = itemgetter(*names)
            values = tuple(map(_copied, read(model.__dict__)))
            self._last = _Asked(type(model), read, values, {name: _copied(said[name]) for name in said}, place)
        return place


def _copied(value: Any) -> Any:
    """A value as it is now, should it be changed in place."""
    if value.__class__ is dict:
        return {name: _copied(held) for name, held in value.items()}
    return [_copied(held) for held in value] if value.__class__ is list else value
