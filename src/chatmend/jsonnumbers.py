"""Numbers in nested values that JSON does not have: NaN, infinities, and ``Decimal``."""

from __future__ import annotations

import math
from operator import is_
from typing import Any

_PLAIN = frozenset({str, int, bool, type(None)})
_CONTAINERS = (dict, list, tuple)
_LONGEST = 300
"""Digits of a ``Decimal`` that is written as a number; floats have no more before the point."""


def has_unsendable_number(value: object) -> bool:
    """Return whether a nested value holds such a number; works without recursion."""
    waiting: list[Any] = [(value,)]
    seen = set[int]()
    for held in waiting:  # the loop appends to this list
        if id(held) in seen:
            continue
        seen.add(id(held))
        for item in held.values() if isinstance(held, dict) else held:
            if item.__class__ in _PLAIN:
                continue
            if isinstance(item, _CONTAINERS):
                waiting.append(item)
            elif _is_unsendable(item):
                return True
    return False


def has_lost_numbers(before: object, after: object) -> bool:
    """Return whether such numbers were replaced; a ``Decimal`` is equal to its replacement."""
    return has_unsendable_number(before) and not has_unsendable_number(after)


def with_json_numbers(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return a nested value with numbers that JSON has, and with texts for all others.

    The nesting must not be too deep for recursion. Objects and lists without such numbers are the
    same objects.
    """
    known: dict[int, object] = {}

    def copy(held: Any) -> Any:  # noqa: ANN401
        if not isinstance(held, _CONTAINERS):
            return _as_json(held) if _is_unsendable(held) else held
        if id(held) not in known:
            known[id(held)] = rebuild(held)
        return known[id(held)]

    def rebuild(held: Any) -> Any:  # noqa: ANN401
        if isinstance(held, dict):
            values = [copy(item) for item in held.values()]
            same = all(map(is_, values, held.values()))
            return held if same else dict(zip(held, values, strict=True))
        items = [copy(item) for item in held]
        return held if all(map(is_, items, held)) else items

    return copy(value)


def _is_unsendable(value: object) -> bool:
    return not math.isfinite(value) if isinstance(value, float) else _is_decimal(value)


def _is_decimal(value: object) -> bool:
    if value.__class__ in _PLAIN:
        return False
    from decimal import Decimal  # noqa: PLC0415 - `import chatmend` stays fast

    return isinstance(value, Decimal)


def _as_json(value: Any) -> object:  # noqa: ANN401 - a float or a Decimal
    """Return the number that JSON has for a value; its text if there is none."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    return number if value.__class__(repr(number)) == value else str(value)
