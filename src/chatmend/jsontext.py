"""Functions for JSON values that may be invalid, very deeply nested, or not encodable as UTF-8."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    r"(\\\\)|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u([dD][89a-fA-F][0-9a-fA-F]{2})"
)
_WHITE_SPACE = " \t\r\n"
"""The characters that JSON treats as white space."""
SERVER_DEPTH = 100
"""Levels of nesting that all servers accept.

Parsers of servers have higher limits: serde_json 128 levels, Python 1,000.
"""
_SHALLOW = 2 * SERVER_DEPTH
"""Characters of a JSON text too short to exceed ``SERVER_DEPTH``: each level needs two brackets."""
_WIDE = 1_000
"""Items that are visited before a check for repeated containers starts."""
_encode = json.JSONEncoder(ensure_ascii=False, default=repr).encode
_encode_json = json.JSONEncoder(ensure_ascii=False).encode
_scan: Callable[[str, int], tuple[object, int]] = (
    json.JSONDecoder().scan_once  # type: ignore[attr-defined]
)  # fmt: skip


def parse(text: str, *, distinct: bool = False) -> object:
    """Return the value of a JSON text.

    Args:
        text: the JSON text.
        distinct: whether to refuse objects with a repeated key, of which a parser keeps only one.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or repeats a key.
    """
    try:
        return _read_distinct(text) if distinct else json.loads(text)
    except RecursionError:
        message = "nested too deeply"
        raise ValueError(message) from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        message = "a key is repeated"
        raise ValueError(message)
    return value


_read_distinct = json.JSONDecoder(object_pairs_hook=_distinct).decode


def is_object(text: str) -> bool:
    """Whether a text is a JSON object that servers can read: valid and not nested too deeply."""
    stripped = text if text[:1] == "{" else text.lstrip(_WHITE_SPACE)
    if stripped[:1] != "{":
        return False
    try:
        value, end = _scan(stripped, 0)
    except (StopIteration, ValueError, RecursionError):  # StopIteration: the text is truncated
        return False
    if (
        len(stripped) > _SHALLOW
        and stripped.count("{") + stripped.count("[") > SERVER_DEPTH
        and is_too_deep(value)
    ):
        return False
    return (
        end == len(stripped) or not stripped[end:].strip(_WHITE_SPACE)
    ) and not _has_non_finite_number(stripped)


def _has_non_finite_number(text: str) -> bool:
    """Whether a text contains NaN or an infinity, which Python parses but JSON forbids."""
    if "NaN" not in text and "Infinity" not in text:
        return False
    try:
        json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return True
    return False


def _reject_constant(name: str) -> float:
    message = f"{name} is not a JSON number"
    raise ValueError(message)


def dumps(value: object) -> str:
    """Return a JSON text of any value.

    A value without a JSON form becomes its ``repr``. If the whole value cannot be written, for
    example because it is nested too deeply, the result is its strings and numbers, separated by
    spaces.
    """
    try:
        return _encode(value)
    except (RecursionError, ValueError, TypeError):
        return " ".join(leaf for leaf in strings(value))


def dumps_if_json(value: object) -> str | None:
    """Return a JSON text of a value; None if it holds a value that JSON lacks, as a ``Decimal``."""
    try:
        return _encode_json(value)
    except TypeError:
        return None
    except (RecursionError, ValueError):
        return dumps(value)


def strings(value: object) -> Iterator[str]:
    """Yield every string, key and number of a nested value in order, without recursion.

    A container inside itself is visited once.
    """
    stack, inside = [value], set[int]()
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, _End):
            inside.remove(id(item.of))
        elif isinstance(item, dict | list | tuple) and id(item) not in inside:
            inside.add(id(item))
            stack.append(_End(item))
            if isinstance(item, dict):
                for key, inner in reversed(item.items()):
                    stack += (inner, key)
            else:
                stack.extend(reversed(item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield _number_text(item)


@dataclass(frozen=True, slots=True)
class _End:
    """A marker on the stack after the items of a container."""

    of: object


def _number_text(number: float) -> str:
    """Return a number as text, in hexadecimal if it has more digits than Python converts."""
    try:
        return str(number)
    except ValueError:
        return hex(int(number))


def is_encodable(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: it contains no lone surrogate."""
    if not text.isascii():
        try:
            str.encode(text)
        except UnicodeEncodeError:
            return False
    return True


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD.

    Two adjacent surrogates that form a pair become their character.
    """
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined if not _SURROGATE.search(joined) else _SURROGATE.sub("\ufffd", joined)


def is_encodable_json(text: str) -> bool:
    """Whether the value of a JSON text can be encoded as UTF-8.

    Neither the text nor its escapes such as ``\\ud83d`` may contain a lone surrogate.
    """
    if not is_encodable(text):
        return False
    return "\\u" not in text or not any(match[4] for match in _ESCAPE.finditer(text))


def replace_surrogates_in_json(text: str) -> str:
    """Return a JSON text with each lone surrogate replaced, whether raw or written as an escape."""
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[4] else match[0], replace_surrogates(text))


def is_encodable_value(value: object) -> bool:
    """Whether every string in a nested value can be encoded as UTF-8."""
    stack, seen = [value], set[int]()
    for item in stack:  # the list grows during the loop
        if isinstance(item, str):
            if not is_encodable(item):
                return False
        elif isinstance(item, dict | list | tuple):
            if len(stack) > _WIDE:  # a container that contains itself would never end
                if id(item) in seen:
                    continue
                seen.add(id(item))
            stack += item
            if isinstance(item, dict):
                stack += item.values()
    return True


def equality_key(value: object) -> str:
    """Return a text that is the same for equal values, for values of any depth."""
    try:
        return repr(value)
    except (RecursionError, ValueError):  # ValueError: a number has too many digits for `repr`
        return " ".join(strings(value))


def is_same(one: object, other: object) -> bool:
    """Whether two values are equal.

    Values that cannot be compared (nested too deeply, arrays) differ unless they are the same
    object.
    """
    try:
        return one is other or bool(one == other)
    except Exception:  # noqa: BLE001 - messages can contain objects of any type
        return False


def is_identical(one: object, other: object) -> bool:
    """Whether two values are equal and have the same types: 1 is not True."""
    return is_same(one, other) and equality_key(one) == equality_key(other)


def is_base64(text: object) -> bool:
    """Whether a value is a non-empty base64 text in the standard or the URL-safe alphabet."""
    if not isinstance(text, str) or not text:
        return False
    standard = text.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(standard + "=" * (-len(text) % 4 if text[-1] != "=" else 0), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_CONTAINERS = (dict, list)


def is_too_deep(value: object, max_depth: int = SERVER_DEPTH) -> bool:
    """Whether a value is nested deeper than ``max_depth``; works without recursion."""
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(max_depth - 1):
        if not level:
            return False
        held = [item.values() if isinstance(item, dict) else item for item in level]
        level = [inner for items in held for inner in items if isinstance(inner, _CONTAINERS)]
        if len(level) > _WIDE:  # visit shared containers once; otherwise the level can explode
            level = list({id(inner): inner for inner in level}.values())
    return any(level)


def replace_surrogates_in_value(value: object) -> object:
    """Return a nested value with each lone surrogate replaced.

    Containers without lone surrogates are returned as the same objects.
    """
    if is_encodable_value(value):
        return value
    try:
        return _replaced(value)
    except RecursionError:
        return _replaced_deep(value)


def _replaced_deep(value: object) -> object:
    """Like ``_replaced``, but without recursion; it copies every container."""
    whole: list[object] = [value]
    todo: list[tuple[Any, Any]] = [(whole, 0)]
    copies: dict[int, object] = {}
    while todo:
        holder, at = todo.pop()
        item = holder[at]
        if isinstance(item, str):
            holder[at] = replace_surrogates(item)
        elif id(item) in copies:  # it contains itself or occurs more than once
            holder[at] = copies[id(item)]
        elif isinstance(item, dict):
            inner: dict[object, object] = {}
            for key, held in item.items():
                inner[_unused_key(key, inner)] = held
            holder[at] = copies[id(item)] = inner
            todo += ((inner, key) for key in inner)
        elif isinstance(item, list | tuple):
            holder[at] = copies[id(item)] = items = list(item)
            todo += ((items, index) for index in range(len(items)))
    return whole[0]


def _unused_key(key: object, taken: dict[object, object]) -> object:
    """Return an encodable form of a key that is not in ``taken``.

    Two keys that differ only in their lone surrogates stay distinct.
    """
    name = replace_surrogates(key) if isinstance(key, str) and not is_encodable(key) else key
    while name in taken:
        name = f"{name}_"
    return name


def _replaced(value: object) -> object:
    if isinstance(value, str):
        return value if is_encodable(value) else replace_surrogates(value)
    if isinstance(value, dict):
        out: dict[object, object] = {}
        for key, inner in value.items():
            out[_unused_key(key, out)] = _replaced(inner)
        same = all(old is new for old, new in zip(value, out, strict=True))
        return value if same and all(map(is_, value.values(), out.values())) else out
    if isinstance(value, list | tuple):
        items = [_replaced(item) for item in value]
        return value if all(map(is_, value, items)) else items
    return value


def value_at(value: object, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value under a key, or under nested keys that are separated by dots.

    It is None if there is no such key, or if a value before the last key is no object.
    """
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_one_of(value: object, names: Container[str]) -> bool:
    """Whether a value is a string in ``names``; False for unhashable values such as lists."""
    return isinstance(value, str) and value in names
