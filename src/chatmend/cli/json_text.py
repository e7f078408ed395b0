"""Changes values in a JSON text: other values keep their bytes, new ones get the same style."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from chatmend.sessions.stored import Conversation

_Span: TypeAlias = tuple[int, int]

_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_BLANK = " \t\n\r"
_WHITE = re.compile("[ \t\n\r]*")
_BOM = "\ufeff"


def splice(text: str, old: Conversation, new: Conversation) -> str:
    """Return ``text``, which is the JSON text of ``old``, changed into a text of ``new``.

    List items, object members and items of lists in objects keep their exact text if they are the
    same Python objects in ``old`` and ``new``. Both must be lists or both dicts.
    """
    start = _skip_white_space(text, len(_BOM) if text.startswith(_BOM) else 0)
    if isinstance(new, list) and isinstance(old, list):
        plain = _Style(ascii=text.isascii() and "\\u" in text)
        spans, stop = _item_spans(text, start)
        spliced = _splice_list(text, _List((start, stop), spans), (old, new), plain)
        return text[:start] + spliced + text[stop:]
    if isinstance(new, dict) and isinstance(old, dict):
        return text[:start] + _splice_object(text, start, old, new)
    raise TypeError("a list cannot replace an object, nor an object a list")


def list_items(text: str, start: int) -> list[tuple[int, int]]:
    """Return the start and stop of each item of the list that begins at ``start``."""
    return _item_spans(text, start)[0]


@dataclass(frozen=True, slots=True)
class _List:
    """The span of a list in a JSON text, and those of its items."""

    span: _Span
    items: list[_Span]


def _splice_object(text: str, first: int, old: dict[str, object], new: dict[str, object]) -> str:
    """Return the text of an object that begins at ``first``, and what follows it."""
    edited = {
        key
        for key, value in old.items()
        if value is not new[key] and isinstance(value, list) and isinstance(new[key], list)
    }
    members, lists = _member_spans(text, first, edited)
    style = _Style.at(text, first)
    out, at = "", first
    for key, (start, stop) in sorted(members.items(), key=lambda member: member[1]):
        if new[key] is not old[key]:
            out += text[at:start] + _splice_value(
                text, lists.get(key, start), (old[key], new[key]), style
            )
            at = stop
    end = max((stop for _, stop in members.values()), default=first + 1)
    added = [
        style.gap
        + json.dumps(key, ensure_ascii=style.ascii)
        + style.colon
        + style.dumps(value, style.inner)
        for key, value in new.items()
        if key not in members
    ]
    return out + text[at:end] + ("," if members and added else "") + ",".join(added) + text[end:]


def _splice_value(text: str, at: int | _List, change: tuple[object, object], style: _Style) -> str:
    """Return the text of a value that begins at an offset, or of a list."""
    old, new = change
    if isinstance(at, _List):
        assert isinstance(old, list)  # noqa: S101 - its items have spans
        assert isinstance(new, list)  # noqa: S101
        return _splice_list(text, at, (old, new), style)
    return style.dumps(new, _indentation_at(text, at))


def _splice_list(
    text: str, given: _List, change: tuple[list[object], list[object]], style: _Style
) -> str:
    old, new = change
    (at, end), spans = given.span, given.items
    if is_unchanged(old, new):
        return text[at:end]
    if not spans or not new:
        return style.dumps(new, _indentation_at(text, at))
    number_of = {id(item): number for number, item in enumerate(old)}
    objects = [start for start, _ in spans if text[start] == "{"]
    style = _Style.at(text, objects[0]) if objects else style
    head, indentation = text[at + 1 : spans[0][0]], _indentation_at(text, spans[0][0])
    gap = next(
        (text[one[1] : other[0]] for one, other in pairwise(spans)), "," + (head or style.comma[1:])
    )
    pieces: list[str] = []
    before = -1
    for item in new:
        number = number_of.get(id(item), -1)  # -1: a new item
        if pieces:
            follows = number > 0 and before == number - 1
            pieces.append(text[spans[before][1] : spans[number][0]] if follows else gap)
        pieces.append(
            text[slice(*spans[number])] if number >= 0 else style.dumps(item, indentation)
        )
        before = number
    return f"[{head}{''.join(pieces)}{text[spans[-1][1] : end]}"


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
    if text[at : at + 1] not in _BLANK:
        return at
    found = _WHITE.match(text, at)
    return found.end() if found else at


def _end_of_value(text: str, at: int) -> int:
    """Return the end offset of the value that begins at ``at``."""
    stop: int = _scan(text, at)[1]
    return stop


def _indentation_at(text: str, at: int) -> str:
    """Return the indentation of the line that contains offset ``at``."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : min(_skip_white_space(text, line), at)]


def _item_spans(text: str, at: int) -> tuple[list[_Span], int]:
    """Return the spans of the items of the list at ``at``, and its end."""
    spans: list[_Span] = []
    at = _skip_white_space(text, at + 1)
    while text[at] != "]":
        stop = _end_of_value(text, at)
        spans.append((at, stop))
        at = _skip_white_space(text, stop)
        at = _skip_white_space(text, at + 1) if text[at] == "," else at
    return spans, at + 1


def _member_spans(
    text: str, at: int, edited: Container[str]
) -> tuple[dict[str, _Span], dict[str, _List]]:
    """Return the spans of the values of the object at ``at``, and the lists among ``edited``.

    For a repeated key it is the span of the last value, which is the one that parsers return.
    """
    spans: dict[str, _Span] = {}
    lists: dict[str, _List] = {}
    at = _skip_white_space(text, at + 1)
    while text[at] != "}":
        key, stop = _scan(text, at)
        value = _skip_white_space(text, _skip_white_space(text, stop) + 1)
        if key in edited and text[value] == "[":
            items, stop = _item_spans(text, value)
            lists[key] = _List((value, stop), items)
        else:
            stop = _end_of_value(text, value)
        spans[key] = (value, stop)
        at = _skip_white_space(text, stop)
        at = _skip_white_space(text, at + 1) if text[at] == "," else at
    return spans, lists
