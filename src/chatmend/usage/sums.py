"""Adds usage records. Unreported counts stay unreported; the order of addition does not matter."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import reduce
from typing import Any

from chatmend.usage.usage_record import SEVERAL, Number, Usage, usage_from_fields

_COUNTS = tuple(name for name, kind in Usage.__annotations__.items() if kind == int | None)
_TEXTS = ("cost_currency", "cost_source", "service_tier", "provider", "model", "kind")
_GROUPS = ("details", "billed", "cost_details")
# Precise enough that a sum of prices is never rounded. Rounding would make the order matter.
_EXACT = Context(prec=200)


def add(one: Usage, other: Usage) -> Usage:
    """Add two usage records.

    Texts that differ become ``several``; amounts in different currencies are not added.
    """
    values: dict[str, Any] = {}
    ours, theirs = vars(one), vars(other)  # unset fields are absent
    for name in _COUNTS:
        left, right = ours.get(name), theirs.get(name)
        if left is not None or right is not None:
            values[name] = (left or 0) + (right or 0)
    for name in _TEXTS:
        values[name] = _merge_texts(ours.get(name), theirs.get(name))
    for name in _GROUPS:
        if name in ours or name in theirs:
            values[name] = _add_each(ours.get(name, {}), theirs.get(name, {}))
    values["cost"] = None if values["cost_currency"] == SEVERAL else _add_cost(one.cost, other.cost)
    values["complete"] = one.complete and other.complete
    values["parts"] = merge_by_kind(one.parts + other.parts)
    values["sources"] = _merge_sources(one.sources, other.sources)
    values["unread"] = tuple(dict.fromkeys(one.unread + other.unread))
    values["warnings"] = _merge_warnings(one.warnings, other.warnings)
    return usage_from_fields(values)


def total(usages: Sequence[Usage]) -> Usage:
    """Add usage records, in one step if they differ only in their counts."""
    first, *others = map(vars, usages)
    if (
        "parts" in first
        or first.get("cost_currency") == SEVERAL
        or any(other.keys() != first.keys() for other in others)
    ):
        return reduce(add, usages)
    values: dict[str, Any] = {}
    for name, value in first.items():
        column = [other[name] for other in others]
        if name in _ADDED and None not in (value, *column):
            values[name] = reduce(_ADDED[name], column, value)
        elif column.count(value) == len(column):
            values[name] = value
        else:
            return reduce(add, usages)
    return usage_from_fields(values)


def add_numbers(left: Number, right: Number) -> Number:
    """Return the exact sum of two counts or amounts."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _EXACT.add(Decimal(left), Decimal(right))


def sum_amounts(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of one or more amounts."""
    return reduce(_EXACT.add, amounts)


def _add_cost(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    if left is None or right is None:
        return right if left is None else left
    return _EXACT.add(left, right)


def _merge_texts(left: str | None, right: str | None) -> str | None:
    if left is None or right is None or left == right:
        return right if left is None else left
    return SEVERAL


def _merge_sources(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    if left == right:
        return dict(left)
    both = {**left, **right}
    both.update({key: SEVERAL for key in left.keys() & right.keys() if left[key] != right[key]})
    return both


def _add_each(left: Mapping[str, Number], right: Mapping[str, Number]) -> dict[str, Number]:
    both = {**left, **right}
    both.update({key: add_numbers(left[key], right[key]) for key in left.keys() & right.keys()})
    return both


_ADDED: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(_COUNTS, operator.add),
    **dict.fromkeys(_GROUPS, _add_each),
    "cost": _EXACT.add,
}
"""The function that adds two values of a numeric field, or of a mapping of numbers."""


def merge_by_kind(parts: tuple[Usage, ...]) -> tuple[Usage, ...]:
    """Add up the parts of each kind and model, so that a sum of many records stays small."""
    if not parts:
        return ()
    sums: dict[tuple[str | None, str | None], Usage] = {}
    for part in parts:
        kind = (part.kind, part.model)
        sums[kind] = add(sums[kind], part) if kind in sums else part
    return tuple(sums.values())


def _merge_warnings(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Merge warnings by code: the text if both have the same text for a code, else the code alone.

    This limits the length of the warnings in a sum of many records.
    """
    if not left and not right:
        return ()
    texts, others = _group_by_code(left), _group_by_code(right)
    for code, added in others.items():
        texts[code] = added if texts.get(code, added) == added else {code}
    return tuple(sorted(text for group in texts.values() for text in group))


def _group_by_code(texts: tuple[str, ...]) -> dict[str, set[str]]:
    by_code: dict[str, set[str]] = {}
    for text in texts:
        by_code.setdefault(text.partition(":")[0], set()).add(text)
    return by_code
