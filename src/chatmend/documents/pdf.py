"""Reads the header, the number of pages and the encryption of a PDF, in linear time.

The objects are read in the order of the file, not through its cross-reference table, so that a
damaged or hostile table changes nothing. Compressed object streams are inflated within a budget.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from chatmend.documents.encryption import opens_without_password

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 1024
"""The header is within the first 1024 bytes, as readers of PDF accept it."""
_LONGEST_DICTIONARY = 1 << 16
"""Only the first 64 KiB of each object are read."""
_INFLATED_PER_BYTE, _INFLATED_ALWAYS = 20, 1 << 20
"""Object streams are inflated to at most 1 MiB, plus 20 bytes for each byte of the file."""
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_NODE = re.compile(rb"/Type\s*/Pages(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,7})(?![\d\s]*R)")
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm(?![A-Za-z])")
_FLATE_ONLY = re.compile(rb"/Filter\s*\[?\s*/FlateDecode\s*(?:\]|/|>)")
_NUMBER_OF_OBJECTS = re.compile(rb"/N\s+(\d{1,6})")
_FIRST = re.compile(rb"/First\s+(\d{1,7})")
_ENCRYPT = re.compile(rb"/Encrypt\s*(?:\d+\s+\d+\s+R|<<)")
_STREAM = b"stream"


@dataclass(frozen=True, slots=True)
class PdfFacts:
    """What is known about a PDF without rendering it."""

    size: int
    """Size of the file in bytes."""
    is_pdf: bool
    """Whether the file has the header of a PDF."""
    pages: int | None = None
    """The number of pages; None if it cannot be read."""
    is_encrypted: bool = False
    opens_freely: bool = True
    """Whether every reader can open it: it is not encrypted, or the password is empty.

    False if the encryption is not known.
    """


@dataclass(slots=True)
class _PageTree:
    """What was found while the objects were read."""

    leaves: int = 0
    largest_count: int = 0
    is_complete: bool = True
    """False if an object stream could not be read, so that pages may be missing."""

    def read(self, body: bytes) -> None:
        """Read an object that may be a node or a page."""
        if b"/Page" not in body:
            return
        if _NODE.search(body):
            counts = [int(count) for count in _COUNT.findall(body)]
            self.largest_count = max([self.largest_count, *counts])
        elif _PAGE.search(body):
            self.leaves += 1

    @property
    def pages(self) -> int | None:
        """The number of pages: the smaller one of the pages found and the count of the root."""
        if not self.is_complete:
            return self.largest_count or None
        return min(self.leaves, self.largest_count) or None


def is_pdf(head: bytes) -> bool:
    """Return whether a file has the header of a PDF, from its first 1024 bytes."""
    return b"%PDF-" in head[:_HEAD]


def names_encryption(piece: bytes) -> bool:
    """Return whether a piece of a file, such as its last bytes, names an encryption."""
    return _ENCRYPT.search(piece) is not None


def probe_pdf(data: bytes) -> PdfFacts:
    """Inspect a file that should be a PDF. Never raises."""
    if not is_pdf(data):
        return PdfFacts(len(data), is_pdf=False)
    tree, is_encrypted = _PageTree(), False
    budget = _INFLATED_ALWAYS + _INFLATED_PER_BYTE * len(data)
    for body, start in _objects(data):
        if _OBJECT_STREAM.search(body):
            budget -= _read_object_stream(data, body, start, budget, tree)
        else:
            tree.read(body)
        is_encrypted = is_encrypted or (b"/XRef" in body and bool(_ENCRYPT.search(body)))
    is_encrypted = is_encrypted or _has_encrypted_trailer(data)
    opens_freely = not is_encrypted or opens_without_password(data) is True
    pages = None if is_encrypted else tree.pages
    return PdfFacts(
        len(data), is_pdf=True, pages=pages, is_encrypted=is_encrypted, opens_freely=opens_freely
    )


def _objects(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the text of each object up to its stream, and where the stream begins, or -1."""
    position = 0
    while True:
        start = data.find(b"obj", position)
        if start < 0:
            return
        start += len(b"obj")
        end = data.find(b"endobj", start)
        end = len(data) if end < 0 else end
        last = min(end, start + _LONGEST_DICTIONARY)
        stream = data.find(_STREAM, start, last)
        yield data[start : last if stream < 0 else stream], stream
        position = end + len(b"endobj")


def _read_object_stream(data: bytes, body: bytes, start: int, budget: int, tree: _PageTree) -> int:
    """Read the objects in an object stream; return how many bytes were inflated."""
    number, first = _NUMBER_OF_OBJECTS.search(body), _FIRST.search(body)
    if start < 0 or number is None or first is None or not _FLATE_ONLY.search(body):
        tree.is_complete = False
        return 0
    begin = start + len(_STREAM)
    begin += 2 if data[begin : begin + 2] == b"\r\n" else 1
    inflated = _inflate(data, begin, budget)
    if inflated is None:
        tree.is_complete = False
        return budget
    offset = int(first[1])
    numbers = inflated[:offset].split()[1 : 2 * int(number[1]) : 2]
    starts = [offset + int(text) for text in numbers if text.isdigit() and len(text) <= 7]  # noqa: PLR2004
    for this, following in pairwise([*starts, len(inflated)]):
        tree.read(inflated[this : min(following, this + _LONGEST_DICTIONARY)])
    return len(inflated)


def _inflate(data: bytes, begin: int, budget: int) -> bytes | None:
    """Return the inflated stream; None if it is damaged or has more bytes than the budget."""
    inflater = zlib.decompressobj()
    end = data.find(b"endstream", begin)
    try:
        inflated = inflater.decompress(data[begin : end if end >= 0 else len(data)], budget + 1)
    except zlib.error:
        return None
    return inflated if len(inflated) <= budget else None


def _has_encrypted_trailer(data: bytes) -> bool:
    """Return whether a trailer names the encryption of the file."""
    position = data.find(b"trailer")
    while position >= 0:
        end = data.find(b"startxref", position)
        last = min(len(data) if end < 0 else end, position + _LONGEST_DICTIONARY)
        if _ENCRYPT.search(data, position, last):
            return True
        position = data.find(b"trailer", last)
    return False
