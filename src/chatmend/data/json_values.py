"""Writes the values of rows as JSON texts and reads them back, including those of Arrow."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_TYPE = "chatmend:type"
"""The key that marks the JSON form of a value that JSON does not have."""
_WRITERS: dict[type, Callable[[Any], str]] = {
    bytes: lambda value: base64.b64encode(value).decode(),
    dt.datetime: dt.datetime.isoformat,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: lambda value: str(value // dt.timedelta(microseconds=1)),
    Decimal: str,
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "bytes": base64.b64decode,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": lambda text: dt.timedelta(microseconds=int(text)),
    "Decimal": Decimal,
}


def dumps(value: Any) -> str:  # noqa: ANN401 - any value of a row
    """Return a value as a JSON text that UTF-8 can encode.

    Raises:
        TypeError: it has a type that neither JSON nor Arrow has.
    """
    if _holds_tuple(value):
        value = _with_marked_tuples(value)
    text = json.dumps(value, ensure_ascii=False, default=_marked)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
        return json.dumps(value, default=_marked)
    return text


def loads(text: str) -> Any:  # noqa: ANN401 - any value of a row
    """Return the value of a text that ``dumps`` has written."""
    return json.loads(text, object_hook=_unmarked if _TYPE in text else None)


def digest(value: Any) -> str | None:  # noqa: ANN401 - any value of a row
    """Return a digest of a value; None if JSON cannot represent it."""
    try:
        text = dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _holds_tuple(value: Any) -> bool:  # noqa: ANN401 - any value of a row
    """Return whether there is a tuple in a value of any depth; works without recursion."""
    pending, seen = [value], set[int]()
    while pending:
        held = pending.pop()
        if isinstance(held, tuple):
            return True
        if isinstance(held, list | dict) and id(held) not in seen:
            seen.add(id(held))
            pending += held if isinstance(held, list) else held.values()
    return False


def _with_marked_tuples(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    """Return a value in which tuples are marked.

    Arrow reads the entries of a map as tuples, and JSON would write them as lists.
    """
    if isinstance(value, tuple):
        return {_TYPE: "tuple", "value": [*map(_with_marked_tuples, value)]}
    if isinstance(value, list):
        return [*map(_with_marked_tuples, value)]
    if isinstance(value, dict):
        return {key: _with_marked_tuples(held) for key, held in value.items()}
    return value


def _marked(value: object) -> dict[str, str]:
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return {_TYPE: kind.__name__, "value": write(value)}
    raise TypeError(f"a value of type {type(value).__name__} cannot be recorded")


def _unmarked(value: dict[str, Any]) -> Any:  # noqa: ANN401 - any value of a row
    read = _READERS.get(value.get(_TYPE, "")) if len(value) == 2 else None  # noqa: PLR2004 - the type and the value
    return value if read is None else read(value["value"])
