"""JSON text in which some values change: all others keep their bytes, and new ones are written as the old ones were."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Conversation: TypeAlias = "list[object] | dict[str, object]"
_Span: TypeAlias = tuple[int, int]

_DECODER = json.JSONDecoder()
_WHITE = re.compile("[ \t\n\r]*")
_BOM = "\ufeff"


def spliced(text: str, old: Conversation, new: Conversation) -> str:
    """The text of ``new``, made from the text of ``old``.

    Values that are the same objects in both keep their text, to the last space and digit: the items of a list, and of
    an object the members and the items of its lists. Both must be lists, or both objects.
    """
    start = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    stop = _end(text, start)
    if isinstance(new, list) and isinstance(old, list):
        plain = _Style(ascii=text.isascii() and "\\u" in text)
        return text[:start] + _list(text, start, (old, new), plain) + text[stop:]
    if isinstance(new, dict) and isinstance(old, dict):
        return text[:start] + _object(text, (start, stop), old, new) + text[stop:]
    raise TypeError("a list cannot take the place of an object, nor an object that of a list")


def _object(text: str, span: _Span, old: dict[str, object], new: dict[str, object]) -> str:
    members, style = _members(text, span[0]), _Style.at(text, span[0])
    out, at = "", span[0]
    for key, (start, stop) in sorted(members.items(), key=lambda member: member[1]):
        if new[key] is not old[key]:
            out += text[at:start] + _value(text, start, (old[key], new[key]), style)
            at = stop
    end = max((stop for _, stop in members.values()), default=span[0] + 1)
    added = [
        style.gap + json.dumps(key, ensure_ascii=style.ascii) + style.colon + style.dumps(value, style.inner)
        for key, value in new.items()
        if key not in members
    ]
    return out + text[at:end] + ("," if members and added else "") + ",".join(added) + text[end : span[1]]


def _value(text: str, at: int, change: tuple[object, object], style: _Style) -> str:
    old, new = change
    if isinstance(old, list) and isinstance(new, list):
        return _list(text, at, (old, new), style)
    return style.dumps(new, _margin(text, at))


def _list(text: str, at: int, change: tuple[list[object], list[object]], style: _Style) -> str:
    old, new = change
    spans = _items(text, at)
    if not spans and not new:
        return text[at : _end(text, at)]
    if not spans or not new:
        return style.dumps(new, _margin(text, at))
    places = {id(item): place for item, place in zip(old, spans, strict=True)}
    objects = [start for start, _ in spans if text[start] == "{"]
    style = _Style.at(text, objects[0]) if objects else style
    head, margin = text[at + 1 : spans[0][0]], _margin(text, spans[0][0])
    gap = next((text[one[1] : other[0]] for one, other in pairwise(spans)), "," + (head or style.comma[1:]))
    pieces = []
    for item in new:
        place = places.get(id(item))
        pieces.append(text[slice(*place)] if place else style.dumps(item, margin))
    return f"[{head}{gap.join(pieces)}{text[spans[-1][1] : _end(text, at)]}"


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text writes its objects."""

    ascii: bool
    """Whether letters beyond ASCII are escaped."""
    newline: str = ""
    """What ends a line inside an object; empty for an object in one line."""
    unit: str = ""
    """The indentation that a level adds."""
    inner: str = ""
    """The whole indentation of the members."""
    comma: str = ", "
    colon: str = ": "

    @property
    def gap(self) -> str:
        """What stands behind a comma between two members."""
        return self.newline + self.inner if self.newline else self.comma[1:]

    @classmethod
    def at(cls, text: str, start: int) -> _Style:
        """The style of the object at ``start``."""
        is_ascii = text.isascii() and "\\u" in text
        first = _skip(text, start + 1)
        if text[first] == "}":
            return cls(is_ascii)
        key = _end(text, first)
        value = _skip(text, _skip(text, key) + 1)
        colon = text[key:value]
        white = text[start + 1 : first]
        if "\n" in white:
            newline = "\r\n" if "\r\n" in white else "\n"
            inner = white.rpartition("\n")[2]
            outer = _margin(text, start)
            unit = inner.removeprefix(outer) if inner.startswith(outer) and inner != outer else "  "
            return cls(is_ascii, newline, unit, inner, ",", colon)
        after = _skip(text, _end(text, value))
        spaced = text[after + 1 : _skip(text, after + 1)] if text.startswith(",", after) else colon.partition(":")[2]
        return cls(is_ascii, comma="," + spaced, colon=colon)

    def dumps(self, value: object, margin: str) -> str:
        """The value in this style; lines after the first begin with the margin."""
        try:
            text = self._dumps(value, ascii_only=self.ascii)
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
            text = self._dumps(value, ascii_only=True)
        return text.replace("\n", self.newline + margin)

    def _dumps(self, value: object, *, ascii_only: bool) -> str:
        indent = self.unit if self.newline else None
        return json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=(self.comma, self.colon))


def _skip(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    """Where the value ends that begins at ``at``."""
    stop: int = _DECODER.raw_decode(text, at)[1]
    return stop


def _margin(text: str, at: int) -> str:
    """The indentation of the line that ``at`` stands in."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : min(_skip(text, line), at)]


def _items(text: str, at: int) -> list[_Span]:
    """Where the items of the list at ``at`` stand."""
    spans: list[_Span] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        stop = _end(text, at)
        spans.append((at, stop))
        at = _skip(text, stop)
        at = _skip(text, at + 1) if text[at] == "," else at
    return spans


def _members(text: str, at: int) -> dict[str, _Span]:
    """Where the values of the object at ``at`` stand; of a key that stands twice the last one, as a parser has it."""
    spans: dict[str, _Span] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, stop = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, stop) + 1)
        spans[key] = (value, stop := _end(text, value))
        at = _skip(text, stop)
        at = _skip(text, at + 1) if text[at] == "," else at
    return spans
