"""Reads and writes the JSON of request bodies, in the style in which the client has written it."""

from __future__ import annotations

import json
import re
from typing import Any

try:
    import orjson
except ImportError:  # an optional dependency: without it, reading takes four times as long
    orjson = None  # type: ignore[assignment,unused-ignore]

_DIGITS = bytes(ord("0") if chr(code).isdigit() else ord(" ") for code in range(128)) + b" " * 128
_LONG_NUMBER = b"0" * 19
"""orjson reads whole numbers of more than 64 bits, which have 19 digits or more, as floats."""
_SPACED = re.compile(rb'\s*\{\s*"[^"]*":[ ]')
_COMPACT_SEPARATORS, _SPACED_SEPARATORS = (",", ":"), (", ", ": ")


def read_json(content: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text, fast; see ``is_exact`` for its numbers.

    Raises:
        ValueError: ``content`` is not JSON.
        RecursionError: it is nested too deeply.
    """
    if orjson is not None:
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError:
            pass  # lone surrogates and infinite numbers, which the standard library reads
    return json.loads(content)


def is_exact(content: bytes) -> bool:
    """Return whether all numbers that ``read_json`` returns for a text are exact."""
    return orjson is None or _LONG_NUMBER not in content.translate(_DIGITS)


def write_json(value: Any, original: bytes) -> bytes:  # noqa: ANN401 - any JSON value
    """Return the JSON text of a value with the separators and escapes of another text.

    What is equal at the beginning of both values then has the same bytes.
    """
    is_spaced = _SPACED.match(original) is not None
    is_escaped = b"\\u" in original and original.isascii()
    if orjson is not None and not is_spaced and not is_escaped:
        try:
            return orjson.dumps(value)
        except TypeError:
            pass  # lone surrogates and whole numbers of more than 64 bits
    separators = _SPACED_SEPARATORS if is_spaced else _COMPACT_SEPARATORS
    try:
        return json.dumps(value, ensure_ascii=is_escaped, separators=separators).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=separators).encode()
