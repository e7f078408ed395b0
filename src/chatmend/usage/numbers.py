"""Parses numbers in the forms that providers use: integers, floats, strings of digits, enums."""

from decimal import Decimal, InvalidOperation

_LONGEST = 40
"""The most characters of a number. No count is longer, and parsing takes quadratic time."""


def parse_amount(value: object) -> Decimal | None:
    """Return the value as an exact number, or None if it is not a number.

    ``True``, NaN and infinity are not numbers.
    """
    value = getattr(value, "value", value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value) if value.bit_length() <= _LONGEST * 3 else None
    if isinstance(value, float):
        value = repr(value)
    if isinstance(value, str) and len(value) <= _LONGEST:
        try:
            value = Decimal(value.strip())
        except InvalidOperation:
            return None
    return (
        value
        if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LONGEST
        else None
    )


def parse_number(value: object) -> int | Decimal | None:
    """Return the value like `parse_amount`, but a whole number as int."""
    exact = parse_amount(value)
    if exact is None:
        return None
    return int(exact) if exact == exact.to_integral_value() else exact


def is_numeric(value: object) -> bool:
    """Whether a value is a number, not a bool and not a text."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
