"""Converts Arrow arrays to Python values without the nulls that fill the keys of objects."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from chatmend.data.wire import without_nulls

if TYPE_CHECKING:
    import pyarrow as pa


def values_of(array: pa.Array) -> list[Any]:
    """Return the values like ``to_pylist``, but without keys whose value is null."""
    import pyarrow as pa  # noqa: PLC0415 - `import chatmend.data` stays fast

    types = pa.types
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _lists(array)
    if types.is_struct(array.type):
        return _objects(array)
    values = array.to_pylist()
    return without_nulls(values) if types.is_nested(array.type) else values  # type: ignore[no-any-return]


def _lists(array: pa.Array) -> list[Any]:
    from pyarrow import compute  # noqa: PLC0415

    items = iter(values_of(array.flatten()))
    lengths = compute.list_value_length(array).to_pylist()
    return [None if length is None else [*islice(items, length)] for length in lengths]


def _objects(array: pa.Array) -> list[Any]:
    objects: list[Any] = [{} for _ in range(len(array))]
    for at, column in enumerate(array.flatten()):
        if column.null_count == len(column):
            continue
        name = array.type.field(at).name
        # Setting only the values that are not null is three times as fast as filtering them.
        for held, value in zip(objects, values_of(column), strict=True):
            if value is not None:
                held[name] = value
    if array.null_count:
        valid = array.is_valid().to_pylist()
        return [held if is_value else None for held, is_value in zip(objects, valid, strict=True)]
    return objects
