"""Streamed responses: chunks that contain usage get a usage record, others pass unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wrapt import ObjectProxy

from chatmend.litellm.summaries import KEY, NOT_REPORTED
from chatmend.litellm.usage_records import UsageRecord, add_to_hidden_params, write_usage_record
from chatmend.usage import UsageStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.litellm.summaries import Failures
    from chatmend.options import UsageMode

_USAGE_KEYS = (b'"usage"', b'"usageMetadata"')
_DATA = b"data:"


# Without wrapt installed, its class is untyped for mypy.
class StreamWithUsage(ObjectProxy):  # type: ignore[misc, type-arg, unused-ignore]
    """A stream of LiteLLM that calls a function for each chunk.

    In all other respects, ``isinstance`` included, it behaves like the stream that it wraps.
    """

    def __init__(self, wrapped: Any, process: Callable[[Any], Any]) -> None:
        """Call ``process`` for every chunk; it may change the chunk and must not raise."""
        super().__init__(wrapped)
        self._self_process = process

    def __iter__(self) -> Any:
        """Return this stream, which is its own iterator."""
        return self

    def __aiter__(self) -> Any:
        """Return this stream, which is its own iterator."""
        return self

    def __next__(self) -> Any:
        """Return the next chunk of a synchronous stream."""
        chunk = next(self.__wrapped__)
        self._self_process(chunk)
        return chunk

    async def __anext__(self) -> Any:
        """Return the next chunk of an asynchronous stream."""
        chunk = await self.__wrapped__.__anext__()
        self._self_process(chunk)
        return chunk


class ChunkUsageWriter:
    """Writes usage records into the chunks of one stream: LiteLLM objects or raw SSE bytes."""

    def __init__(self, failures: Failures, where: UsageMode = "body") -> None:
        """Write records of objects to ``where``; records of raw events always go into the event.

        ``failures`` counts exceptions that occur here. The chunk is then passed on unchanged.
        """
        self._failures = failures
        self._where = where
        self._usage_stream = UsageStream()
        self._rest: list[bytes] = []

    def process(self, chunk: Any) -> Any:
        """Return the chunk to pass on: the same object, or complete lines of raw events."""
        with self._failures.guard(NOT_REPORTED):
            if isinstance(chunk, bytes):
                return self._process_bytes(chunk)
            if (
                record := write_usage_record(chunk, self._where)
            ) is not None and self._where == "hidden":
                add_to_hidden_params(chunk, {"usage": record})
        return chunk

    def flush(self) -> Iterator[bytes]:
        """Yield the incomplete last line of raw events at the end of the stream."""
        if self._rest:
            yield b"".join(self._rest)
            self._rest = []

    def _process_bytes(self, chunk: bytes) -> bytes:
        """Return the lines that are complete; an incomplete line is kept until its end arrives."""
        if not self._rest and chunk.endswith(b"\n") and not _may_have_usage(chunk):
            return chunk  # nearly every chunk of a stream
        if b"\n" not in chunk:
            # Pieces are joined once, at the end of the line, so the cost stays linear.
            self._rest.append(chunk)
            return b""
        *whole, rest = b"".join([*self._rest, chunk]).split(b"\n")
        self._rest = [rest] if rest else []
        return b"".join(self._process_line(line) + b"\n" for line in whole)

    def _process_line(self, line: bytes) -> bytes:
        if not line.startswith(_DATA) or not _may_have_usage(line):
            return line
        try:
            event = json.loads(line[len(_DATA) :])
        except ValueError:
            return line
        self._usage_stream.feed(event)
        if (usage := _usage_of(event)) is None:
            return line
        usage[KEY] = UsageRecord(self._usage_stream.usage)
        return _DATA + b" " + json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _may_have_usage(text: bytes) -> bool:
    return _USAGE_KEYS[0] in text or _USAGE_KEYS[1] in text


def _usage_of(event: Any) -> dict[str, Any] | None:
    """Return the usage of an event, of its message or of its response."""
    if not isinstance(event, dict):
        return None
    for holder in (event, event.get("message"), event.get("response")):
        if isinstance(holder, dict):
            for key in ("usage", "usageMetadata"):
                if isinstance(holder.get(key), dict):
                    found: dict[str, Any] = holder[key]
                    return found
    return None
