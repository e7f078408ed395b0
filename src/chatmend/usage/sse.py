"""Server-sent events, cut anywhere: text or bytes in, parsed events out."""

import codecs
import json
from collections.abc import Iterator
from typing import Any

DONE = "[DONE]"


class EventReader:
    """Reassembles events from pieces of a stream. Also reads JSON lines, which Ollama sends instead of events."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._event = ""
        self._data: list[str] = []

    def feed(self, piece: str | bytes) -> Iterator[dict[str, Any]]:
        """The events that the piece completes; ``[DONE]`` is ``{"done": True}``. What is no JSON object is left out."""
        text = self._decoder.decode(piece) if isinstance(piece, bytes) else piece
        is_held = bool(self._rest) and self._rest[-1] == "\r"
        if "\n" not in text and "\r" not in text and not is_held:
            if text:
                self._rest.append(text)  # joined when the line ends: a long line costs its length once
            return
        text = "".join([*self._rest, text])
        # a lone "\r" at the end may be half of "\r\n"
        held = "\r" if text.endswith("\r") else ""
        lines = text.removesuffix(held).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = [part for part in (lines.pop(), held) if part]
        for line in lines:
            yield from self._line(line)

    def close(self) -> Iterator[dict[str, Any]]:
        """What was left without an empty line after it."""
        rest, self._rest = "".join(self._rest).rstrip("\r"), []
        yield from self._line(rest)
        yield from self._line("")

    def _line(self, line: str) -> Iterator[dict[str, Any]]:
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield from self._flush()
        elif name == "data" and colon:
            self._data.append(value)
        elif name == "event" and colon:
            self._event = value
        elif line.startswith("{"):
            yield from parsed(line, "")

    def _flush(self) -> Iterator[dict[str, Any]]:
        data, event = "\n".join(self._data), self._event
        self._data, self._event = [], ""
        if data.strip() == DONE:
            yield {"done": True}
        elif data:
            yield from parsed(data, event)


def parsed(text: str, event: str) -> Iterator[dict[str, Any]]:
    """The object that the text holds, with the event's name where it does not bear one itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value if not event or "type" in value else {"event": event, **value}
