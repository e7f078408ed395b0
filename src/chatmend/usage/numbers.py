"""Numbers as providers write them: integers, floats, digits in a string, enums, nulls, nonsense."""

from decimal import Decimal, InvalidOperation

_LONGEST = 40
"""Characters. No count is longer, and Python takes quadratic time to read longer ones."""


def amount(value: object) -> Decimal | None:
    """The value as an exact number, or None where it is none. ``True`` is no number, nor are NaN and infinity."""
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
    return value if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LONGEST else None


def number(value: object) -> int | Decimal | None:
    """Like `amount`; whole numbers come back as int."""
    exact = amount(value)
    if exact is None:
        return None
    return int(exact) if exact == exact.to_integral_value() else exact


def is_numeric(value: object) -> bool:
    """Whether a leaf is a number that someone may have meant: not a flag, not a text."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
