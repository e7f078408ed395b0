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
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, cast

from chatmend.errors import SessionFormatError
from chatmend.sessions.blocks import block, message_of
from chatmend.sessions.header import Header
from chatmend.sessions.markers import with_markers

if TYPE_CHECKING:
    from collections.abc import Mapping

OPENING = b"<!-- session_transcript\n"
_DIGEST = b"digest: sha256:"
_END = b"\n-->\n"
_CLOSING = b"\n<!--/MSG-->\n"
"""Ends every block of a message, and stands nowhere else."""
_OPENING_BESIDE, _CLOSING_BESIDE = b"\n<!--BESIDE-->\n", b"\n<!--/BESIDE-->\n"
_OPENING_MSG = '<!--MSG role="'
_ANY = '\n<!--MSG role="?"-->\n'
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
        beside = [self.beside] if self.beside else []
        below = b"\n".join([head, *beside, *self.blocks])
        return b"%s%s%s\n%s" % (OPENING, _DIGEST, sha256(below).hexdigest().encode(), below)

    def messages(self) -> list[Any]:
        """The messages, made anew from their blocks."""
        return [_value(made[: -len(_CLOSING)].decode()) for made in self.blocks]

    def request(self) -> dict[str, Any]:
        """What the request has beside its messages, made anew."""
        made = self.beside[len(_OPENING_BESIDE) - 1 : -len(_CLOSING_BESIDE)]
        return cast("dict[str, Any]", _value(_ANY[1:] + made.decode())) if self.beside else {}


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
        return Document(header, tuple(blocks), self._data[start + 1 : end]), messages

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
        value = self._message(_ANY.encode() + self._data[start + len(_OPENING_BESIDE) : end], start)
        if not isinstance(value, dict):
            raise self._fault(start + 1, "expected an object in the BESIDE block")
        return end + len(_CLOSING_BESIDE)

    def _messages(self, start: int) -> tuple[list[bytes], list[Any]]:
        chunks = self._data[start:].split(_CLOSING)
        rest = chunks.pop()
        messages: list[Any] = []
        for chunk in chunks:
            messages.append(self._message(chunk, start))
            start += len(chunk) + len(_CLOSING)
        if rest:
            raise self._fault(len(self._data), "expected '<!--/MSG-->' and the end of a line")
        return [chunk[1:] + _CLOSING for chunk in chunks], messages

    def _message(self, chunk: bytes, start: int) -> Any:  # noqa: ANN401 - whatever was stored
        """The message of a block, from the empty line before it to its last text."""
        try:
            if not chunk.startswith(b"\n"):
                raise ValueError("an empty line between two blocks")  # noqa: TRY301 - every fault gets its place here
            return _value(chunk[1:].decode())
        except UnicodeDecodeError as error:
            raise self._fault(start + 1 + error.start, "expected UTF-8") from None
        except ValueError as error:
            raise self._fault(start + 1, f"expected {_expected(error)}") from None


def _value(text: str) -> Any:  # noqa: ANN401 - whatever was stored
    """The message of a block without its closing.

    Raises:
        ValueError: it is no such block; the text says what was expected.
    """
    role = text.find('"-->\n')
    if not text.startswith(_OPENING_MSG) or role < 0:
        raise ValueError("'<!--MSG role=\"...\"-->'")
    skeleton, texts = _split(text[role + 5 :])
    return message_of(text[len(_OPENING_MSG) : role], skeleton, texts)


def _expected(error: ValueError) -> str:
    """What was expected; the text of JSON's own errors holds nothing of the content."""
    return f"JSON: {error.msg}" if isinstance(error, JSONDecodeError) else str(error)


def _split(inner: str) -> tuple[str | None, list[str]]:
    """The JSON of a block, if it has any, and its texts.

    Raises:
        ValueError: a delimiter stands where none may.
    """
    skeleton, texts = None, [inner]
    if inner.startswith("<!--JSON "):
        end = inner.find("-->")
        skeleton, below = inner[9:end], inner[end + 3 :]
        if end < 0 or (below and below[0] != "\n"):
            raise ValueError("'-->' at the end of a line of JSON")
        texts = below[1:].split("\n<!--NEXT-->\n") if below else []
    if any("<!--" in text for text in texts):
        raise ValueError("'<!--/MSG-->' before the next '<!--'")
    return skeleton, texts
