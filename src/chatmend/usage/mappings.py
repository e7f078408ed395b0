"""Reads objects of any SDK as mappings. Nested values are not copied before they are read."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

_PRIVATE = frozenset({"_hidden_params"})
"""The attribute in which LiteLLM stores the cost of a response.

Other private attributes repeat public ones.
"""
_SCALARS = (str, bytes, int, float, Decimal, Enum, list, tuple, set, frozenset, type(None), type)


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """Return the value as a mapping, or None if it has no named fields.

    Supports mappings, pydantic models (including extra and private attributes), protobuf messages,
    and objects with attributes or slots. A field that raises an exception is left out. Do not
    change the result: it may be the ``__dict__`` of the object.
    """
    if isinstance(value, dict):
        return value
    if isinstance(getattr(value, "__pydantic_fields_set__", None), set):
        private = getattr(value, "__pydantic_private__", None)
        # Reading the attributes one by one would take ten times as long.
        if not private or _PRIVATE.isdisjoint(private):
            extra: Mapping[str, Any] | None = getattr(value, "__pydantic_extra__", None)
            return {**vars(value), **extra} if extra else vars(value)
    if isinstance(value, _SCALARS) or callable(value):
        return None
    if isinstance(value, Mapping):
        return value
    value = getattr(value, "_pb", value)  # proto-plus wraps a protobuf message
    names = _field_names(value)
    return {
        name: field
        for name in names
        if (name[:1] != "_" or name in _PRIVATE) and (field := _get(value, name)) is not None
    }


def _field_names(value: object) -> tuple[str, ...]:
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and hasattr(descriptor, "fields"):
        return tuple(field.name for field in descriptor.fields)
    slots = [
        name for kind in type(value).__mro__ for name in _slot_names(getattr(kind, "__slots__", ()))
    ]
    extra = getattr(value, "__pydantic_extra__", None) or {}
    private = getattr(value, "__pydantic_private__", None) or {}
    return (*getattr(value, "__dict__", ()), *extra, *private, *slots)


def _slot_names(slots: str | Iterable[str]) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _get(value: object, name: str) -> object:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - a property of an SDK's class may raise any exception
        return None
