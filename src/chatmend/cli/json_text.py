"""Changes values in a JSON text: other values keep their bytes, new ones get the same style."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from chatmend.sessions.stored import Conversation

_Span: TypeAlias = tuple[int, int]

_DECODER = json.JSONDecoder()
_WHITE = re.compile("[ \t\n\r]*")
_BOM = "\ufeff"


def splice(text: str, old: Conversation, new: Conversation) -> str:
    """Return ``text``, which is the JSON text of ``old``, changed into a text of ``new``.

    List items, object members and items of lists in objects keep their exact text if they are the
    same Python objects in ``old`` and ``new``. Both must be lists or both dicts.
    """
    start = _skip_white_space(text, len(_BOM) if text.startswith(_BOM) else 0)
    stop = _end_of_value(text, start)
    if isinstance(new, list) and isinstance(old, list):
        plain = _Style(ascii=text.isascii() and "\\u" in text)
        return text[:start] + _splice_list(text, start, (old, new), plain) + text[stop:]
    if isinstance(new, dict) and isinstance(old, dict):
        return text[:start] + _splice_object(text, (start, stop), old, new) + text[stop:]
    raise TypeError("a list cannot replace an object, nor an object a list")


def _splice_object(text: str, span: _Span, old: dict[str, object], new: dict[str, object]) -> str:
    members, style = _member_spans(text, span[0]), _Style.at(text, span[0])
    out, at = "", span[0]
    for key, (start, stop) in sorted(members.items(), key=lambda member: member[1]):
        if new[key] is not old[key]:
            out += text[at:start] + _splice_value(text, start, (old[key], new[key]), style)
            at = stop
    end = max((stop for _, stop in members.values()), default=span[0] + 1)
    added = [
        style.gap
        + json.dumps(key, ensure_ascii=style.ascii)
        + style.colon
        + style.dumps(value, style.inner)
        for key, value in new.items()
        if key not in members
    ]
    return (
        out
        + text[at:end]
        + ("," if members and added else "")
        + ",".join(added)
        + text[end : span[1]]
    )


def _splice_value(text: str, at: int, change: tuple[object, object], style: _Style) -> str:
    old, new = change
    if isinstance(old, list) and isinstance(new, list):
        return _splice_list(text, at, (old, new), style)
    return style.dumps(new, _indentation_at(text, at))


def _splice_list(
    text: str, at: int, change: tuple[list[object], list[object]], style: _Style
) -> str:
    old, new = change
    spans = _item_spans(text, at)
    if not spans and not new:
        return text[at : _end_of_value(text, at)]
    if not spans or not new:
        return style.dumps(new, _indentation_at(text, at))
    span_by_id = {id(item): span for item, span in zip(old, spans, strict=True)}
    objects = [start for start, _ in spans if text[start] == "{"]
    style = _Style.at(text, objects[0]) if objects else style
    head, indentation = text[at + 1 : spans[0][0]], _indentation_at(text, spans[0][0])
    gap = next(
        (text[one[1] : other[0]] for one, other in pairwise(spans)), "," + (head or style.comma[1:])
    )
    pieces = []
    for item in new:
        span = span_by_id.get(id(item))
        pieces.append(text[slice(*span)] if span else style.dumps(item, indentation))
    return f"[{head}{gap.join(pieces)}{text[spans[-1][1] : _end_of_value(text, at)]}"


@dataclass(frozen=True, slots=True)
class _Style:
    """The formatting of objects in a JSON text."""

    ascii: bool
    """Whether characters outside of ASCII are escaped."""
    newline: str = ""
    """The line ending inside an object; empty if objects are written in one line."""
    unit: str = ""
    """The indentation that one level adds."""
    inner: str = ""
    """The complete indentation of the members."""
    comma: str = ", "
    colon: str = ": "

    @property
    def gap(self) -> str:
        """The white space after the comma between two members."""
        return self.newline + self.inner if self.newline else self.comma[1:]

    @classmethod
    def at(cls, text: str, start: int) -> _Style:
        """Return the style of the object at offset ``start``."""
        is_ascii = text.isascii() and "\\u" in text
        first = _skip_white_space(text, start + 1)
        if text[first] == "}":
            return cls(is_ascii)
        key = _end_of_value(text, first)
        value = _skip_white_space(text, _skip_white_space(text, key) + 1)
        colon = text[key:value]
        white = text[start + 1 : first]
        if "\n" in white:
            newline = "\r\n" if "\r\n" in white else "\n"
            inner = white.rpartition("\n")[2]
            outer = _indentation_at(text, start)
            unit = inner.removeprefix(outer) if inner.startswith(outer) and inner != outer else "  "
            return cls(is_ascii, newline, unit, inner, ",", colon)
        after = _skip_white_space(text, _end_of_value(text, value))
        spaced = (
            text[after + 1 : _skip_white_space(text, after + 1)]
            if text.startswith(",", after)
            else colon.partition(":")[2]
        )
        return cls(is_ascii, comma="," + spaced, colon=colon)

    def dumps(self, value: object, indentation: str) -> str:
        """Return the value as JSON in this style.

        Lines after the first begin with ``indentation``.
        """
        try:
            text = self._dumps(value, ascii_only=self.ascii)
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            text = self._dumps(value, ascii_only=True)
        return text.replace("\n", self.newline + indentation)

    def _dumps(self, value: object, *, ascii_only: bool) -> str:
        indent = self.unit if self.newline else None
        return json.dumps(
            value, ensure_ascii=ascii_only, indent=indent, separators=(self.comma, self.colon)
        )


def _skip_white_space(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at


def _end_of_value(text: str, at: int) -> int:
    """Return the end offset of the value that begins at ``at``."""
    stop: int = _DECODER.raw_decode(text, at)[1]
    return stop


def _indentation_at(text: str, at: int) -> str:
    """Return the indentation of the line that contains offset ``at``."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : min(_skip_white_space(text, line), at)]


def _item_spans(text: str, at: int) -> list[_Span]:
    """Return the spans of the items of the list at ``at``."""
    spans: list[_Span] = []
    at = _skip_white_space(text, at + 1)
    while text[at] != "]":
        stop = _end_of_value(text, at)
        spans.append((at, stop))
        at = _skip_white_space(text, stop)
        at = _skip_white_space(text, at + 1) if text[at] == "," else at
    return spans


def _member_spans(text: str, at: int) -> dict[str, _Span]:
    """Return the spans of the values of the object at ``at``.

    For a repeated key it is the span of the last value, which is the one that parsers return.
    """
    spans: dict[str, _Span] = {}
    at = _skip_white_space(text, at + 1)
    while text[at] != "}":
        key, stop = _DECODER.raw_decode(text, at)
        value = _skip_white_space(text, _skip_white_space(text, stop) + 1)
        spans[key] = (value, stop := _end_of_value(text, value))
        at = _skip_white_space(text, stop)
        at = _skip_white_space(text, at + 1) if text[at] == "," else at
    return spans
