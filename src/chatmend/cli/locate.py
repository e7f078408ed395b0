"""Where in a file it is: the findings with certain codes, and the messages that hold an id which a text names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chatmend.cli.conversation import NoConversationError, Order, UnreadableError, messages_of, parsed, visit
from chatmend.cli.depth import deep_values
from chatmend.cli.sources import Source, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmend.cli.conversation import Finding
    from chatmend.cli.json_text import Conversation

_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id"})
_SHORTEST = 2
"""Characters of an id that is worth looking for."""


@dataclass(slots=True)
class Located:
    """What was found in one conversation."""

    title: str
    findings: tuple[Finding, ...] = ()
    ids: dict[str, list[int]] = field(default_factory=dict)
    """Ids that the text names, with the messages that hold them."""
    fault: str = ""


def locate(path: Path, order: Order, text: str) -> Iterator[Located]:
    """Look through a file, one conversation after the other.

    Raises:
        OSError: it cannot be opened.
    """
    source = Source(path, path, found=False)
    with path.open("rb") as file:
        number = 0
        for block in blocks(source, file):
            for raw in block.pieces(file, lines=source.has_lines):
                number += 1
                if raw.strip() or not source.has_lines:
                    yield _located(source.title(number), raw, order, text)


def _located(title: str, raw: bytes, order: Order, text: str) -> Located:
    try:
        with deep_values():
            return Located(title, visit(raw, order).findings, dict(_named(parsed(raw), text)))
    except (NoConversationError, UnreadableError) as error:
        return Located(title, fault=str(error))


def _named(conversation: Conversation, text: str) -> Iterator[tuple[str, list[int]]]:
    places: dict[str, list[int]] = {}
    for place, message in enumerate(messages_of(conversation) or ()):
        for name in dict.fromkeys(_ids(message)):
            places.setdefault(name, []).append(place)
    for name, held in places.items():
        if len(name) >= _SHORTEST and name in text:
            yield name, held


def _ids(message: object) -> Iterator[str]:
    stack = [message]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from (value for key, value in item.items() if key in _IDS and isinstance(value, str))
            stack += item.values()
        elif isinstance(item, list):
            stack += item
