"""How each dialect asks and answers: read what is asked, write the answer whole or as the events of a stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.sandbox.answers import Answer, Ask
    from chatmend.sandbox.memory import Segment
    from chatmend.sandbox.request import Request

Body = dict[str, Any]


class Wire(Protocol):
    """One dialect."""

    MEDIA_TYPE: str
    """The content type of a stream."""
    MARKERS: bool
    """Whether prompts are cached only up to cache markers."""

    def ask(self, request: Request) -> Ask:
        """What the request asks for."""

    def segments(self, request: Request) -> list[Segment]:
        """The prompt, piece by piece, in the order in which the model reads it."""

    def whole(self, answer: Answer, request: Request) -> Body:
        """The answer in one piece."""

    def events(self, answer: Answer, request: Request) -> Iterable[bytes]:
        """The answer as a stream."""


def sse(data: Any, event: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """A text in pieces, as a stream carries it."""
    for at in range(0, len(text), size):
        yield text[at : at + size]


CREATED = 1_767_225_600
"""2026-01-01: answers carry no clock, so that the same request gets the same bytes."""
