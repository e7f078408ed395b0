"""Any object that an SDK hands out, seen as a mapping. Nothing is copied deeper than it is read."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

_PRIVATE = frozenset({"_hidden_params"})
"""What LiteLLM keeps of a response's cost. Other private names repeat the public ones."""
_SCALARS = (str, bytes, int, float, Decimal, Enum, list, tuple, set, frozenset, type(None), type)


def mapping(value: object) -> Mapping[str, Any] | None:
    """The value as a mapping, or None where it has no named fields.

    Read are mappings, pydantic models (also what they keep beside their fields), protobuf messages, and objects with
    attributes or slots. A field that raises when it is asked for is left out. The mapping is to be read only.
    """
    if isinstance(value, dict):
        return value
    if isinstance(getattr(value, "__pydantic_fields_set__", None), set):
        private = getattr(value, "__pydantic_private__", None)
        if not private or _PRIVATE.isdisjoint(private):  # as it is kept: each name for itself takes ten times as long
            extra: Mapping[str, Any] | None = getattr(value, "__pydantic_extra__", None)
            return {**vars(value), **extra} if extra else vars(value)
    if isinstance(value, _SCALARS) or callable(value):
        return None
    if isinstance(value, Mapping):
        return value
    value = getattr(value, "_pb", value)  # proto-plus wraps a protobuf message
    names = _names(value)
    return {
        name: field
        for name in names
        if (name[:1] != "_" or name in _PRIVATE) and (field := _get(value, name)) is not None
    }


def _names(value: object) -> tuple[str, ...]:
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and hasattr(descriptor, "fields"):
        return tuple(field.name for field in descriptor.fields)
    slots = [name for kind in type(value).__mro__ for name in _listed(getattr(kind, "__slots__", ()))]
    extra = getattr(value, "__pydantic_extra__", None) or {}
    private = getattr(value, "__pydantic_private__", None) or {}
    return (*getattr(value, "__dict__", ()), *extra, *private, *slots)


def _listed(slots: str | Iterable[str]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _get(value: object, name: str) -> object:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - a property of someone else's class may raise anything
        return None
