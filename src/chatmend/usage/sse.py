"""Parses server-sent events from pieces of text or bytes that may end anywhere."""

import codecs
import json
from collections.abc import Iterator
from typing import Any

DONE = "[DONE]"


class EventReader:
    """Parses events from pieces of a stream. Also parses JSON lines, which Ollama sends instead."""

    def __init__(self) -> None:
        """Create a reader at the start of a stream."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._event = ""
        self._data: list[str] = []

    def feed(self, piece: str | bytes) -> Iterator[dict[str, Any]]:
        """Yield the events that the piece completes; ``[DONE]`` becomes ``{"done": True}``.

        Data that is not a JSON object is ignored.
        """
        text = self._decoder.decode(piece) if isinstance(piece, bytes) else piece
        is_held = bool(self._rest) and self._rest[-1] == "\r"
        if "\n" not in text and "\r" not in text and not is_held:
            if text:
                # Joined at the end of the line, so that a long line takes linear time.
                self._rest.append(text)
            return
        text = "".join([*self._rest, text])
        # A "\r" at the end may be the first half of "\r\n".
        held = "\r" if text.endswith("\r") else ""
        lines = text.removesuffix(held).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = [part for part in (lines.pop(), held) if part]
        for line in lines:
            yield from self._parse_line(line)

    def close(self) -> Iterator[dict[str, Any]]:
        """Yield the last event, if no empty line followed it."""
        rest, self._rest = "".join(self._rest).rstrip("\r"), []
        yield from self._parse_line(rest)
        yield from self._parse_line("")

    def _parse_line(self, line: str) -> Iterator[dict[str, Any]]:
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            yield from self._flush()
        elif name == "data" and colon:
            self._data.append(value)
        elif name == "event" and colon:
            self._event = value
        elif line.startswith("{"):
            yield from parse_object(line, "")

    def _flush(self) -> Iterator[dict[str, Any]]:
        data, event = "\n".join(self._data), self._event
        self._data, self._event = [], ""
        if data.strip() == DONE:
            yield {"done": True}
        elif data:
            yield from parse_object(data, event)


def parse_object(text: str, event: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON object in the text, with the name of the event if it has no ``type``."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value if not event or "type" in value else {"event": event, **value}
