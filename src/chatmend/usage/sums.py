"""Sums of accounts. What nobody reported stays unreported, and the order of addition does not matter."""

from collections.abc import Mapping
from decimal import Context, Decimal
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


def plus(left: Number, right: Number) -> Number:
    """The exact sum of two counts or amounts."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _EXACT.add(Decimal(left), Decimal(right))


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
