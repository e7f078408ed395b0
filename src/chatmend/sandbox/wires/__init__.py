"""The wire formats of the sandbox.

Each module reads requests and writes answers, complete or as the events of a stream.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmend.sandbox.answers import Answer, NormalizedRequest
    from chatmend.sandbox.memory import Segment
    from chatmend.sandbox.request import SandboxRequest

Body = dict[str, Any]


class Wire(Protocol):
    """One wire format."""

    MEDIA_TYPE: str
    """The content type of a stream."""
    MARKERS: bool
    """Whether prompts are cached only up to cache markers."""

    def normalize(self, request: SandboxRequest) -> NormalizedRequest:
        """Return the contents of a request that determine the answer."""

    def segments(self, request: SandboxRequest) -> list[Segment]:
        """Return the pieces of the prompt in the order in which the model reads them."""

    def response_body(self, answer: Answer, request: SandboxRequest) -> Body:
        """Return the answer as a complete response."""

    def events(self, answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
        """Return the answer as a stream."""


def sse(data: Any, event: str | None = None) -> bytes:
    """Encode one server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """Split a text into the pieces of a stream."""
    for at in range(0, len(text), size):
        yield text[at : at + size]


CREATED = 1_767_225_600
"""2026-01-01: a constant time, so that the same request always gets the same bytes."""
