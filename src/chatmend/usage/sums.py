"""Sums of accounts. What nobody reported stays unreported, and the order of addition does not matter."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import reduce
from typing import Any

from chatmend.usage.account import SEVERAL, Number, Usage, build

_COUNTS = tuple(name for name, kind in Usage.__annotations__.items() if kind == int | None)
_TEXTS = ("cost_currency", "cost_source", "service_tier", "provider", "model", "kind")
_GROUPS = ("details", "billed", "cost_details")
# Wide enough that no sum of prices is ever rounded: rounding would make the order of addition matter.
_EXACT = Context(prec=200)


def add(one: Usage, other: Usage) -> Usage:
    """Both accounts in one. Texts that differ become ``several``; amounts in different currencies are not added."""
    values: dict[str, Any] = {}
    mine, its = vars(one), vars(other)  # what is not there is not set
    for name in _COUNTS:
        left, right = mine.get(name), its.get(name)
        if left is not None or right is not None:
            values[name] = (left or 0) + (right or 0)
    for name in _TEXTS:
        values[name] = _agree(mine.get(name), its.get(name))
    for name in _GROUPS:
        if name in mine or name in its:
            values[name] = _add_each(mine.get(name, {}), its.get(name, {}))
    values["cost"] = None if values["cost_currency"] == SEVERAL else _add_cost(one.cost, other.cost)
    values["complete"] = one.complete and other.complete
    values["parts"] = by_kind(one.parts + other.parts)
    values["sources"] = _agree_each(one.sources, other.sources)
    values["unread"] = tuple(dict.fromkeys(one.unread + other.unread))
    values["warnings"] = _warnings(one.warnings, other.warnings)
    return build(values)


def total(usages: Sequence[Usage]) -> Usage:
    """Some accounts in one: `add`, which calls that differ in their counts alone need not take one by one."""
    first, *others = map(vars, usages)
    if "parts" in first or first.get("cost_currency") == SEVERAL or any(its.keys() != first.keys() for its in others):
        return reduce(add, usages)
    values: dict[str, Any] = {}
    for name, value in first.items():
        column = [its[name] for its in others]
        if name in _ADDED and None not in (value, *column):
            values[name] = reduce(_ADDED[name], column, value)
        elif column.count(value) == len(column):
            values[name] = value
        else:
            return reduce(add, usages)
    return build(values)


def plus(left: Number, right: Number) -> Number:
    """The exact sum of two counts or amounts."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _EXACT.add(Decimal(left), Decimal(right))


def amount_of(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum of one amount or more."""
    return reduce(_EXACT.add, amounts)


def _add_cost(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    if left is None or right is None:
        return right if left is None else left
    return _EXACT.add(left, right)


def _agree(left: str | None, right: str | None) -> str | None:
    if left is None or right is None or left == right:
        return right if left is None else left
    return SEVERAL


def _agree_each(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    if left == right:
        return dict(left)
    both = {**left, **right}
    both.update({key: SEVERAL for key in left.keys() & right.keys() if left[key] != right[key]})
    return both


def _add_each(left: Mapping[str, Number], right: Mapping[str, Number]) -> dict[str, Number]:
    both = {**left, **right}
    both.update({key: plus(left[key], right[key]) for key in left.keys() & right.keys()})
    return both


_ADDED: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(_COUNTS, operator.add),
    **dict.fromkeys(_GROUPS, _add_each),
    "cost": _EXACT.add,
}
"""How two values of a field that is a number, or holds numbers, become one."""


def by_kind(parts: tuple[Usage, ...]) -> tuple[Usage, ...]:
    """Parts of one kind and model are one part, so that a long sum stays small."""
    if not parts:
        return ()
    sums: dict[tuple[str | None, str | None], Usage] = {}
    for part in parts:
        kind = (part.kind, part.model)
        sums[kind] = add(sums[kind], part) if kind in sums else part
    return tuple(sums.values())


def _warnings(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Of each code what both say alike, else the code alone: the texts of a thousand calls would fill a book."""
    if not left and not right:
        return ()
    texts, others = _by_code(left), _by_code(right)
    for code, told in others.items():
        texts[code] = told if texts.get(code, told) == told else {code}
    return tuple(sorted(text for told in texts.values() for text in told))


def _by_code(texts: tuple[str, ...]) -> dict[str, set[str]]:
    by_code: dict[str, set[str]] = {}
    for text in texts:
        by_code.setdefault(text.partition(":")[0], set()).add(text)
    return by_code
