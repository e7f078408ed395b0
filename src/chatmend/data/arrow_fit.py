"""Checks that a repaired value fits the type of its column; Arrow drops unknown keys silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.jsontext import is_same

if TYPE_CHECKING:
    from collections.abc import Container

    import pyarrow as pa


def misfit_of(
    value: Any,  # noqa: ANN401 - any JSON value
    field: pa.Field,
    path: str,
    known: Container[int] = (),
) -> str | None:
    """Return where and why a value does not fit a field; None if it does.

    ``known`` holds the identities of items that were read from the column.
    """
    import pyarrow as pa  # noqa: PLC0415 - `import chatmend.data` stays fast

    types, kind = pa.types, field.type
    if value is None:
        return None if field.nullable else f"{path} requires a value"
    if id(value) in known:
        return None
    if types.is_struct(kind):
        return _misfit_of_object(value, kind, path)
    if is_list(kind):
        return _misfit_of_list(value, kind, path, known)
    if types.is_string(kind):
        return None if isinstance(value, str) else f"{path} is not of type {kind}"
    return None if _is_stored_exactly(value, kind) else f"{path} is not of type {kind}"


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is one of the types of lists."""
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _is_stored_exactly(value: object, kind: pa.DataType) -> bool:
    """Return whether Arrow stores a value as this type without a change."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        return is_same(pa.array([value], kind)[0].as_py(), value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False


def _misfit_of_object(value: object, kind: pa.DataType, path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path} is not an object"
    fields = [kind.field(at) for at in range(kind.num_fields)]
    names = {field.name for field in fields}
    if unknown := [key for key, held in value.items() if held is not None and key not in names]:
        return f"{path} has no key {unknown[0]!r}"
    found = (misfit_of(value.get(field.name), field, f"{path}.{field.name}") for field in fields)
    return next(filter(None, found), None)


def _misfit_of_list(
    value: object, kind: pa.DataType, path: str, known: Container[int]
) -> str | None:
    if not isinstance(value, list):
        return f"{path} is not a list"
    size = getattr(kind, "list_size", len(value))
    if len(value) != size:
        return f"{path} has {len(value)} items; its type requires {size}"
    items = enumerate(value)
    found = (misfit_of(item, kind.value_field, f"{path}[{at}]", known) for at, item in items)
    return next(filter(None, found), None)
