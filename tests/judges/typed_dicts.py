"""Asks a provider SDK's own types, through pydantic, whether a value is of their shape."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

if TYPE_CHECKING:
    from .request import Json

_SHOWN = 3
"""How many faults of one value are reported; a union reports one per member."""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def faults(kind: Any, value: Json, where: str) -> list[str]:
    """Why ``value`` is not a ``kind``; empty when it is."""
    try:
        _exhaust(_adapter(kind).validate_python(value))
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)[:_SHOWN]
        return [f"{where}.{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in told]
    return []


def _exhaust(value: Json) -> None:
    """Walk to the end: pydantic checks an ``Iterable`` field only when somebody iterates it."""
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif isinstance(value, (list, tuple, Iterator)):
        for item in value:
            _exhaust(item)


def by_type(union: Any) -> dict[str, Any]:
    """The TypedDicts of a union by their ``type``, so that only the intended member reports a fault."""
    table: dict[str, Any] = {}
    for member in _members(union):
        for name in _literals(get_type_hints(member).get("type")):
            table[name] = member
    return table


def _members(kind: Any) -> list[Any]:
    arguments = get_args(kind)
    if not arguments:
        return [kind] if is_typeddict(kind) else []
    return [member for argument in arguments for member in _members(argument)]


def _literals(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind)]
    return [name for argument in get_args(kind) for name in _literals(argument)]
