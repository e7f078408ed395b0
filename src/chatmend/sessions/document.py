"""A session as a file: header, what stands beside the messages, and one block a message.

    <!-- session_transcript
    digest: sha256:...
    agent: main
    ...
    -->

    <!--MSG role="user"-->
    Hello
    <!--/MSG-->

The digest is that of everything below its line. A file that was cut, edited or damaged anywhere does not load.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionFormatError
from chatmend.sessions.block_reader import BlockError, read_blocks
from chatmend.sessions.blocks import CLOSING, block
from chatmend.sessions.blocks import OPENING as BLOCK
from chatmend.sessions.header import Header
from chatmend.sessions.markers import with_markers

if TYPE_CHECKING:
    from collections.abc import Mapping

OPENING = b"<!-- session_transcript\n"
_DIGEST = b"digest: sha256:"
_END = b"\n-->\n"
_CLOSING = CLOSING.encode()
_BETWEEN = _CLOSING + b"\n"
_OPENING_BESIDE, _CLOSING_BESIDE = b"\n<!--BESIDE-->\n", b"\n<!--/BESIDE-->\n"
_ANY = f'{BLOCK}?"-->\n'
"""The opening of a message, for a block that is read like one."""


@dataclass(frozen=True, slots=True)
class Document:
    """What one file holds, rendered but for the header: the bytes of a message never change."""

    header: Header
    blocks: tuple[bytes, ...] = ()
    beside: bytes = b""
    """What a request has beside its messages: ``system``, ``tools``, ``thinking``, ...; empty where it has nothing."""

    def render(self) -> bytes:
        """The whole file."""
        head = "\n".join(self.header.lines()).encode() + _END
        beside = (b"\n", self.beside, _CLOSING_BESIDE) if self.beside else ()
        messages = (b"\n", _BETWEEN.join(self.blocks), _CLOSING) if self.blocks else ()
        below = (head, *beside, *messages)
        digest = sha256()
        for part in below:
            digest.update(part)
        return b"".join((OPENING, _DIGEST, digest.hexdigest().encode(), b"\n", *below))

    def messages(self) -> list[Any]:
        """The messages, made anew from their blocks."""
        return read_blocks([made.decode() for made in self.blocks])

    def request(self) -> dict[str, Any]:
        """What the request has beside its messages, made anew."""
        if not self.beside:
            return {}
        inner = self.beside[len(_OPENING_BESIDE) - 1 :]
        beside: dict[str, Any] = read_blocks([_ANY + inner.decode()])[0]
        return beside


def beside_block(beside: Mapping[str, Any]) -> bytes:
    """The block of what a request has beside its messages.

    Raises:
        TranscriptError: it cannot be stored.
    """
    return block(dict(beside), "BESIDE") if beside else b""


def parse(data: bytes, path: str) -> tuple[Document, list[Any]]:
    """What a file holds, and its messages.

    Raises:
        SessionFormatError: it is not, from its first byte to its last, what was written.
    """
    return _Reader(data, path).read()


class _Reader:
    """Reads one file from front to end, and knows in which line a fault stands."""

    def __init__(self, data: bytes, path: str) -> None:
        self._data = data
        self._path = path

    def _fault(self, at: int, fault: str) -> SessionFormatError:
        """A fault at a byte."""
        return SessionFormatError(self._path, self._data.count(b"\n", 0, at) + 1, fault)

    def read(self) -> tuple[Document, list[Any]]:
        header, digest, start = self._header()
        end = self._beside(start)
        blocks, messages = self._messages(end)
        if len(messages) != header.messages:
            fault = f"expected {header.messages} messages, as the header says; there are {len(messages)}"
            raise self._fault(len(self._data), fault)
        if header.cache_boundary > header.messages:
            raise self._fault(0, "expected a cache_boundary within the messages")
        try:
            with_markers(messages, header.markers)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise self._fault(0, "expected 'markers' that lead to messages") from None
        below = memoryview(self._data)[len(OPENING) + len(_DIGEST) + 65 :]
        if sha256(below).hexdigest() != digest:
            fault = "expected a file with this digest; it was edited or damaged after it was written"
            raise self._fault(len(OPENING), fault)
        return Document(header, tuple(blocks), self._data[start + 1 : end - len(_CLOSING_BESIDE)]), messages

    def _header(self) -> tuple[Header, str, int]:
        data = self._data
        if not data.startswith(OPENING):
            raise self._fault(0, "expected '<!-- session_transcript'")
        end = data.find(_END)
        if end < 0:
            raise self._fault(len(data), "expected '-->' at the end of the header")
        lines = data[len(OPENING) : end].decode("utf-8", "replace").split("\n")
        name, _, digest = lines[0].partition(":")
        if name != "digest" or not digest.startswith(" sha256:") or len(digest) != 72:  # noqa: PLR2004
            raise self._fault(len(OPENING), "expected 'digest: sha256:' and 64 digits")
        try:
            header = Header.read(lines[1:])
        except ValueError as error:
            fault, at = error.args
            raise SessionFormatError(self._path, at + 3, fault) from None
        return header, digest[8:], end + len(_END)

    def _beside(self, start: int) -> int:
        """Where the block before the messages ends, if there is one."""
        if not self._data.startswith(_OPENING_BESIDE, start):
            return start
        end = self._data.find(_CLOSING_BESIDE, start)
        if end < 0:
            raise self._fault(len(self._data), "expected '<!--/BESIDE-->'")
        inner = self._decoded(self._data[start + len(_OPENING_BESIDE) : end], start + len(_OPENING_BESIDE))
        try:
            (value,) = read_blocks([_ANY + inner])
        except BlockError as error:
            raise self._fault(start + 1, f"expected {error}") from None
        if not isinstance(value, dict):
            raise self._fault(start + 1, "expected an object in the BESIDE block")
        return end + len(_CLOSING_BESIDE)

    def _messages(self, start: int) -> tuple[list[bytes], list[Any]]:
        if start == len(self._data):
            return [], []
        if not self._data.endswith(_CLOSING):
            raise self._fault(len(self._data), "expected '<!--/MSG-->' and the end of a line")
        if not self._data.startswith(b"\n", start):
            raise self._fault(start, "expected an empty line")
        data = self._data[start + 1 : -len(_CLOSING)]
        blocks = self._decoded(data, start + 1).split(_BETWEEN.decode())
        try:
            messages = read_blocks(blocks)
        except BlockError as error:
            before = sum(len(made.encode()) + len(_BETWEEN) for made in blocks[: error.at])
            raise self._fault(start + 1 + before, f"expected {error}") from None
        return data.split(_BETWEEN), messages

    def _decoded(self, data: bytes, start: int) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self._fault(start + error.start, "expected UTF-8") from None
