"""Streams on their way back: each chunk that carries usage gets the normalised account; no other is touched or read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wrapt import ObjectProxy

from chatmend.litellm.accounts import Told, place, tell_beside
from chatmend.litellm.notes import KEY
from chatmend.usage import UsageStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.litellm.notes import Failures
    from chatmend.options import UsagePlace

_MARKS = (b'"usage"', b'"usageMetadata"')
_DATA = b"data:"


class MarkedStream(ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore] # untyped where wrapt is not installed
    """A stream of LiteLLM's, itself to everyone who asks, whose chunks with usage are marked as they pass."""

    def __init__(self, wrapped: Any, each: Callable[[Any], Any]) -> None:
        """``each`` sees every chunk and may write into it; it does not raise."""
        super().__init__(wrapped)
        self._self_each = each

    def __iter__(self) -> Any:
        """This stream is its own iterator."""
        return self

    def __aiter__(self) -> Any:
        """This stream is its own iterator."""
        return self

    def __next__(self) -> Any:
        """The next chunk of a synchronous stream."""
        chunk = next(self.__wrapped__)
        self._self_each(chunk)
        return chunk

    async def __anext__(self) -> Any:
        """The next chunk of an asynchronous stream."""
        chunk = await self.__wrapped__.__anext__()
        self._self_each(chunk)
        return chunk


class ChunkMarker:
    """Marks the chunks of one stream, whether they are LiteLLM's objects or raw server-sent events."""

    def __init__(self, failures: Failures, where: UsagePlace = "body") -> None:
        """``failures`` counts what goes wrong here; the chunks pass on as they are.

        ``where`` the account of a chunk goes; that of a raw event always goes into it.
        """
        self._failures = failures
        self._where = where
        self._account = UsageStream()
        self._rest: list[bytes] = []

    def each(self, chunk: Any) -> Any:
        """The chunk to pass on: the same object, except for raw bytes in which an account was written."""
        with self._failures.caught():
            if isinstance(chunk, bytes):
                return self._lines(chunk)
            if (told := place(chunk, self._where)) is not None and self._where == "hidden":
                tell_beside(chunk, {"usage": told})
        return chunk

    def end(self) -> Iterator[bytes]:
        """What is left of raw events when the stream ends."""
        if self._rest:
            yield b"".join(self._rest)
            self._rest = []

    def _lines(self, chunk: bytes) -> bytes:
        """Whole lines only: a line that is cut is kept until its end has come. No client can use half a line."""
        if b"\n" not in chunk:
            self._rest.append(chunk)  # joined when the line ends: a long line costs its length once
            return b""
        *whole, rest = b"".join([*self._rest, chunk]).split(b"\n")
        self._rest = [rest] if rest else []
        return b"".join(self._line(line) + b"\n" for line in whole)

    def _line(self, line: bytes) -> bytes:
        if not line.startswith(_DATA) or not any(word in line for word in _MARKS):
            return line
        try:
            event = json.loads(line[len(_DATA) :])
        except ValueError:
            return line
        self._account.feed(event)
        if (usage := _usage_of(event)) is None:
            return line
        usage[KEY] = Told(self._account.usage)
        return _DATA + b" " + json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _usage_of(event: Any) -> dict[str, Any] | None:
    """The usage of an event: at the top, or in the message or response that the event carries."""
    if not isinstance(event, dict):
        return None
    for holder in (event, event.get("message"), event.get("response")):
        if isinstance(holder, dict):
            for key in ("usage", "usageMetadata"):
                if isinstance(holder.get(key), dict):
                    found: dict[str, Any] = holder[key]
                    return found
    return None
