"""A session as a file: the header, the request parameters, and one block for each message.

    <!-- session_transcript
    digest: sha256:...
    agent: main
    ...
    -->

    <!--MSG role="user"-->
    Hello
    <!--/MSG-->

The digest covers everything below its line. A truncated, edited or damaged file does not load.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionFormatError
from chatmend.sessions.block_reader import BlockError, read_blocks
from chatmend.sessions.blocks import CLOSING, render_block
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
_OPENING_PARAMETERS, _CLOSING_PARAMETERS = b"\n<!--BESIDE-->\n", b"\n<!--/BESIDE-->\n"
_ANY = f'{BLOCK}?"-->\n'
"""The opening of a message, with which the block of the parameters is read like a message."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file, rendered except for the header.

    The bytes of a stored message therefore never change.
    """

    header: Header
    blocks: tuple[bytes, ...] = ()
    parameters: bytes = b""
    """The block of the request parameters (``system``, ``tools``, ``thinking``, ...), or empty."""

    def render(self) -> bytes:
        """Return the content of the whole file."""
        head = "\n".join(self.header.lines()).encode() + _END
        parameters = (b"\n", self.parameters, _CLOSING_PARAMETERS) if self.parameters else ()
        messages = (b"\n", _BETWEEN.join(self.blocks), _CLOSING) if self.blocks else ()
        below = (head, *parameters, *messages)
        digest = sha256()
        for part in below:
            digest.update(part)
        return b"".join((OPENING, _DIGEST, digest.hexdigest().encode(), b"\n", *below))

    def messages(self) -> list[Any]:
        """Return new copies of the messages, read from their blocks."""
        return read_blocks([block.decode() for block in self.blocks])

    def request_parameters(self) -> dict[str, Any]:
        """Return a new copy of the request parameters."""
        if not self.parameters:
            return {}
        inner = self.parameters[len(_OPENING_PARAMETERS) - 1 :]
        parameters: dict[str, Any] = read_blocks([_ANY + inner.decode()])[0]
        return parameters


def parameters_block(parameters: Mapping[str, Any]) -> bytes:
    """Return the block of the request parameters; empty if there are none.

    Raises:
        TranscriptError: a parameter cannot be stored.
    """
    return render_block(dict(parameters), "BESIDE") if parameters else b""


def parse(data: bytes, path: str) -> tuple[Document, list[Any]]:
    """Return the content of a file, and its messages.

    Raises:
        SessionFormatError: the file differs in any byte from what was written.
    """
    return _Reader(data, path).read()


class _Reader:
    """Reads one file from start to end; errors name the line."""

    def __init__(self, data: bytes, path: str) -> None:
        self._data = data
        self._path = path

    def _error(self, offset: int, fault: str) -> SessionFormatError:
        """Return an error for the line of a byte offset."""
        return SessionFormatError(self._path, self._data.count(b"\n", 0, offset) + 1, fault)

    def read(self) -> tuple[Document, list[Any]]:
        header, digest, start = self._read_header()
        end = self._read_parameters(start)
        blocks, messages = self._read_messages(end)
        if len(messages) != header.messages:
            fault = f"expected {header.messages} messages (see the header), found {len(messages)}"
            raise self._error(len(self._data), fault)
        if header.cache_boundary > header.messages:
            raise self._error(0, "expected a cache_boundary within the messages")
        try:
            with_markers(messages, header.markers)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise self._error(0, "expected 'markers' with paths that exist in messages") from None
        below = memoryview(self._data)[len(OPENING) + len(_DIGEST) + 65 :]
        if sha256(below).hexdigest() != digest:
            fault = (
                "expected a file with this digest; it was edited or damaged after it was written"
            )
            raise self._error(len(OPENING), fault)
        return Document(
            header, tuple(blocks), self._data[start + 1 : end - len(_CLOSING_PARAMETERS)]
        ), messages

    def _read_header(self) -> tuple[Header, str, int]:
        data = self._data
        if not data.startswith(OPENING):
            raise self._error(0, "expected '<!-- session_transcript'")
        end = data.find(_END)
        if end < 0:
            raise self._error(len(data), "expected '-->' at the end of the header")
        lines = data[len(OPENING) : end].decode("utf-8", "replace").split("\n")
        name, _, digest = lines[0].partition(":")
        if (
            name != "digest"
            or not digest.startswith(" sha256:")
            # the length of " sha256:" and 64 hexadecimal digits
            or len(digest) != 72  # noqa: PLR2004
        ):
            raise self._error(len(OPENING), "expected 'digest: sha256:' and 64 digits")
        try:
            header = Header.read(lines[1:])
        except ValueError as error:
            fault, index = error.args
            raise SessionFormatError(self._path, index + 3, fault) from None
        return header, digest[8:], end + len(_END)

    def _read_parameters(self, start: int) -> int:
        """Check the block of the request parameters, if there is one; return its end."""
        if not self._data.startswith(_OPENING_PARAMETERS, start):
            return start
        end = self._data.find(_CLOSING_PARAMETERS, start)
        if end < 0:
            raise self._error(len(self._data), "expected '<!--/BESIDE-->'")
        inner = self._decode(
            self._data[start + len(_OPENING_PARAMETERS) : end], start + len(_OPENING_PARAMETERS)
        )
        try:
            (value,) = read_blocks([_ANY + inner])
        except BlockError as error:
            raise self._error(start + 1, f"expected {error}") from None
        if not isinstance(value, dict):
            raise self._error(start + 1, "expected a JSON object in the BESIDE block")
        return end + len(_CLOSING_PARAMETERS)

    def _read_messages(self, start: int) -> tuple[list[bytes], list[Any]]:
        if start == len(self._data):
            return [], []
        if not self._data.endswith(_CLOSING):
            raise self._error(len(self._data), "expected '<!--/MSG-->' and the end of a line")
        if not self._data.startswith(b"\n", start):
            raise self._error(start, "expected an empty line")
        data = self._data[start + 1 : -len(_CLOSING)]
        blocks = self._decode(data, start + 1).split(_BETWEEN.decode())
        try:
            messages = read_blocks(blocks)
        except BlockError as error:
            before = sum(len(block.encode()) + len(_BETWEEN) for block in blocks[: error.index])
            raise self._error(start + 1 + before, f"expected {error}") from None
        return data.split(_BETWEEN), messages

    def _decode(self, data: bytes, start: int) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self._error(start + error.start, "expected UTF-8") from None
