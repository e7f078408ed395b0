"""Splits a text with several conversations into rows: JSON lines, a list, or a HAR file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend.jsontext import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LINES, ITEMS, REQUESTS = "line", "item", "request"
_SPACES = " \t\r\n"
"""The whitespace of JSON. The page splits lines by the same characters."""
_SPACE = re.compile(f"[{_SPACES}]*")
_ERROR_HEAD = 200
_MOST_TRIED = 200
"""Rows that are tried to find the first one that holds a conversation."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The conversations of one text."""

    what: str
    """``line``, ``item`` or ``request``."""
    texts: Sequence[str]
    at: int = 0
    """The row that is inspected."""

    def select(self, row: int | None) -> Rows:
        """Return the rows with another one selected; None keeps the selection."""
        at = self.at if row is None else min(max(row, 0), len(self.texts) - 1)
        return Rows(self.what, self.texts, at)

    @property
    def description(self) -> str:
        """The position of the selected row, such as ``Line 3 of 12``."""
        return f"{self.what.capitalize()} {self.at + 1:,} of {len(self.texts):,}"

    def to_data(self) -> dict[str, Any]:
        """Return the rows for the page, which splits lines itself."""
        data: dict[str, Any] = {"what": self.what, "count": len(self.texts), "at": self.at}
        return data if self.what == LINES else {**data, "texts": list(self.texts)}


def rows_in_text(text: str, is_conversation: Callable[[object], bool]) -> Rows | None:
    """Return the JSON documents of a text with several; None if there is only one.

    Args:
        text: the text; it starts with ``{`` or ``[``.
        is_conversation: returns whether a JSON value holds a conversation.
    """
    lines = [line for line in text.split("\n") if line.strip(_SPACES)]
    what, texts = (LINES, lines) if _are_documents(lines) else (ITEMS, _documents(text))
    if texts is None or _ends_with_error(texts):
        return None
    tried = (_parsed(one) for one in texts[:_MOST_TRIED])
    first = next((at for at, value in enumerate(tried) if is_conversation(value)), None)
    return None if first is None else Rows(what, texts, first)


def rows_in_list(value: list[object], is_conversation: Callable[[object], bool]) -> Rows | None:
    """Return the conversations in a list; None if its first items are none."""
    first = next((at for at, item in enumerate(value[:_MOST_TRIED]) if is_conversation(item)), None)
    if first is None:
        return None
    return Rows(ITEMS, [json.dumps(item, ensure_ascii=False) for item in value], first)


def _are_documents(lines: list[str]) -> bool:
    if len(lines) < 2 or lines[1].strip(_SPACES)[:1] not in ("{", "["):  # noqa: PLR2004 - two lines
        return False
    return _parsed(lines[0]) is not None


def _documents(text: str) -> list[str] | None:
    """Return the texts of JSON documents that follow each other; None without a second one."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while text[at : at + 1] in ("{", "["):
        try:
            end = decoder.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            end = len(text)  # the rest is damaged
        found.append(text[at:end])
        found_space = _SPACE.match(text, end)
        at = found_space.end() if found_space else end
    return found if len(found) > 1 and at == len(text) else None


def _ends_with_error(texts: Sequence[str]) -> bool:
    """Whether the texts are a request and the answer that refused it."""
    if len(texts) != 2:  # noqa: PLR2004 - a request and an answer
        return False
    last = _parsed(texts[1])
    if last is None:
        return "error" in texts[1][:_ERROR_HEAD].lower()
    return isinstance(last, dict) and ("error" in last or last.get("type") == "error")


def _parsed(text: str) -> object:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return None
