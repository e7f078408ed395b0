"""JSON as it stands in transcripts: possibly broken, possibly nested ten thousand deep, possibly not UTF-8."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    r"(\\\\)|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([dD][89a-fA-F][0-9a-fA-F]{2})"
)
_BLANK = " \t\r\n"
"""What JSON takes for white space."""
DEEPEST = 100
"""How deep a value may be nested. Parsers of servers give up soon above: serde_json at 128, Python at 1,000."""
_FLAT = 2 * DEEPEST
"""Characters of a JSON text that cannot be nested deeper: each level opens and closes."""
_WIDE = 1_000
"""How much may be held before it is asked whether something was there already."""
_encode = json.JSONEncoder(ensure_ascii=False, default=repr).encode
_scan: Callable[[str, int], tuple[object, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def parse(text: str, *, distinct: bool = False) -> object:
    """The value of a JSON text; with ``distinct`` only of one in which no key stands twice.

    Raises:
        ValueError: it is no JSON, nested too deep to be read, or has a key twice, of which a parser keeps only one.
    """
    try:
        return _read_distinct(text) if distinct else json.loads(text)
    except RecursionError:
        message = "nested too deep"
        raise ValueError(message) from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        message = "a key stands twice"
        raise ValueError(message)
    return value


_read_distinct = json.JSONDecoder(object_pairs_hook=_distinct).decode


def is_object(text: str) -> bool:
    """Whether a text is JSON and its value an object, nested no deeper than servers read."""
    said = text if text[:1] == "{" else text.lstrip(_BLANK)
    if said[:1] != "{":
        return False
    try:
        value, end = _scan(said, 0)
    except (StopIteration, ValueError, RecursionError):  # the first where the text ends too soon
        return False
    if len(said) > _FLAT and said.count("{") + said.count("[") > DEEPEST and is_too_deep(value):
        return False
    return (end == len(said) or not said[end:].strip(_BLANK)) and not _has_no_number(said)


def _has_no_number(text: str) -> bool:
    """Whether a text holds NaN or an infinity, which Python reads as numbers and JSON does not know."""
    if "NaN" not in text and "Infinity" not in text:
        return False
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return True
    return False


def _refuse(name: str) -> float:
    message = f"{name} is no number"
    raise ValueError(message)


def dumps(value: object) -> str:
    """JSON text of any value; what JSON cannot say is told by its ``repr``, what is nested too deep by its leaves."""
    try:
        return _encode(value)
    except (RecursionError, ValueError, TypeError):
        return " ".join(leaf for leaf in strings(value))


def strings(value: object) -> Iterator[str]:
    """Every string and number in a nested value, keys included, in order and without recursion.

    A container that holds itself is entered once.
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
            yield _digits(item)


@dataclass(frozen=True, slots=True)
class _End:
    """Stands behind what a container holds."""

    of: object


def _digits(number: float) -> str:
    """A number as text; in hexadecimal where it has more digits than Python writes."""
    try:
        return str(number)
    except ValueError:
        return hex(int(number))


def is_sound(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: it holds no lone surrogate."""
    return text.isascii() or not _SURROGATE.search(text)


def mend(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; surrogates that form a pair become their character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined if not _SURROGATE.search(joined) else _SURROGATE.sub("\ufffd", joined)


def is_sound_json(text: str) -> bool:
    """Whether a JSON text, once parsed, can be encoded as UTF-8: its escapes hold no lone surrogate either."""
    if not is_sound(text):
        return False
    return "\\u" not in text or not any(match[4] for match in _ESCAPE.finditer(text))


def mend_json(text: str) -> str:
    """A JSON text without lone surrogates, raw or escaped."""
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[4] else match[0], mend(text))


def is_sound_value(value: object) -> bool:
    """Whether every string in a nested value can be encoded as UTF-8."""
    stack, seen = [value], set[int]()
    for item in stack:  # which grows while it is walked
        if item.__class__ is str:
            if not item.isascii() and _SURROGATE.search(item):
                return False
        elif isinstance(item, str):
            if _SURROGATE.search(item):
                return False
        elif isinstance(item, dict | list | tuple):
            if len(stack) > _WIDE:  # perhaps it holds itself, and has no end
                if id(item) in seen:
                    continue
                seen.add(id(item))
            stack += item
            if isinstance(item, dict):
                stack += item.values()
    return True


def identity(value: object) -> str:
    """A text that two values share when they are equal; of any value, however deep."""
    try:
        return repr(value)
    except (RecursionError, ValueError):  # the second of a number with more digits than Python writes
        return " ".join(strings(value))


def is_same(one: object, other: object) -> bool:
    """Whether two values say the same; what cannot be compared (too deep, an array) is another, unless it is one."""
    try:
        return one is other or bool(one == other)
    except Exception:  # noqa: BLE001 - anything may stand in a message
        return False


def is_base64(text: object) -> bool:
    """Whether a value is a non-empty base64 text, of the standard alphabet or of the one for URLs."""
    if not isinstance(text, str) or not text:
        return False
    standard = text.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(standard + "=" * (-len(text) % 4 if text[-1] != "=" else 0), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_HOLDERS = (dict, list)


def is_too_deep(value: object, deepest: int = DEEPEST) -> bool:
    """Whether a value is nested deeper than servers read, or than ``deepest``; without recursion."""
    level: list[Any] = [value] if isinstance(value, _HOLDERS) else []
    for _ in range(deepest - 1):
        if not level:
            return False
        held = [item.values() if isinstance(item, dict) else item for item in level]
        level = [inner for items in held for inner in items if isinstance(inner, _HOLDERS)]
        if len(level) > _WIDE:  # what stands in several places is looked at once, or there might be no end to it
            level = list({id(inner): inner for inner in level}.values())
    return any(level)


def mend_value(value: object) -> object:
    """A nested value with every lone surrogate replaced; containers that need no change are the same objects."""
    if is_sound_value(value):
        return value
    try:
        return _mended(value)
    except RecursionError:
        return _mended_deep(value)


def _mended_deep(value: object) -> object:
    """The same without recursion, as a copy of everything."""
    whole: list[object] = [value]
    todo: list[tuple[Any, Any]] = [(whole, 0)]
    copies: dict[int, object] = {}
    while todo:
        holder, at = todo.pop()
        item = holder[at]
        if isinstance(item, str):
            holder[at] = mend(item)
        elif id(item) in copies:  # it holds itself, or stands in two places
            holder[at] = copies[id(item)]
        elif isinstance(item, dict):
            inner: dict[object, object] = {}
            for key, held in item.items():
                inner[_free(key, inner)] = held
            holder[at] = copies[id(item)] = inner
            todo += ((inner, key) for key in inner)
        elif isinstance(item, list | tuple):
            holder[at] = copies[id(item)] = items = list(item)
            todo += ((items, place) for place in range(len(items)))
    return whole[0]


def _free(key: object, taken: dict[object, object]) -> object:
    """A sound key; two that differ only in what cannot be encoded stay two."""
    name = mend(key) if isinstance(key, str) and not is_sound(key) else key
    while name in taken:
        name = f"{name}_"
    return name


def _mended(value: object) -> object:
    if isinstance(value, str):
        return value if is_sound(value) else mend(value)
    if isinstance(value, dict):
        out: dict[object, object] = {}
        for key, inner in value.items():
            out[_free(key, out)] = _mended(inner)
        same = all(old is new for old, new in zip(value, out, strict=True))
        return value if same and all(map(is_, value.values(), out.values())) else out
    if isinstance(value, list | tuple):
        items = [_mended(item) for item in value]
        return value if all(map(is_, value, items)) else items
    return value


def is_one_of(value: object, names: Container[str]) -> bool:
    """Whether a value is a text among names. A list or a dict, for which a set raises, is not."""
    return isinstance(value, str) and value in names
