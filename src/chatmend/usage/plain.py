"""Any object that an SDK hands out, seen as a mapping. Nothing is copied deeper than it is read."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

_SCALAR = (str, bytes, int, float, Decimal, Enum, type(None), list, tuple, set, frozenset)


def mapping(value: Any) -> Mapping[str, Any] | None:
    """The value as a mapping, or None where it has no named fields.

    Read are mappings, pydantic models (also what they keep beside their fields), protobuf messages, and objects with
    attributes or slots. A field that raises when it is asked for is left out.
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, _SCALAR) or isinstance(value, type) or callable(value):
        return None
    if isinstance(value, Mapping):
        return value
    value = getattr(value, "_pb", value)  # proto-plus wraps a protobuf message
    names = _names(value)
    return {name: field for name in names if not name.startswith("__") and (field := _get(value, name)) is not None}


def _names(value: Any) -> tuple[str, ...]:
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and hasattr(descriptor, "fields"):
        return tuple(field.name for field in descriptor.fields)
    slots = [name for kind in type(value).__mro__ for name in _listed(getattr(kind, "__slots__", ()))]
    extra = getattr(value, "__pydantic_extra__", None) or {}
    private = getattr(value, "__pydantic_private__", None) or {}
    return (*getattr(value, "__dict__", ()), *extra, *private, *slots)


def _listed(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _get(value: Any, name: str) -> Any:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - a property of someone else's class may raise anything
        return None
