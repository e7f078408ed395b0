"""Inspects the documents of a transcript; the facts about a content are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chatmend import documents, images
from chatmend.dialects.media_types import is_text_type
from chatmend.images.reader import Base64Error, bytes_reader

if TYPE_CHECKING:
    from chatmend.dialects.documents import Document
    from chatmend.documents import PdfFacts
    from chatmend.images.payload import Payload
    from chatmend.images.reader import Reader

_HEAD, _PIECE = 1024, 4096
_MOST_KNOWN = 512
_LONGEST_TEXT = 400_000
"""Only the first characters of a longer text are sent."""
_LARGEST_FILE = 32 << 20
"""Larger files are not read as text."""
_known: dict[bytes, PdfFacts] = {}
"""Facts by the hash of the content, so that they depend on nothing else."""

_recent: dict[tuple[int, int], tuple[str | bytes, PdfFacts]] = {}
"""Facts by the object that holds the content, so that it need not be hashed for each rule."""
_MOST_RECENT, _RECENT_SIZE = 64, 32 << 20
"""At most 64 contents with together about 32 MiB are kept."""


class Content(NamedTuple):
    """The text of a document."""

    text: str
    is_whole: bool
    """False if the text is longer than what is sent."""


def is_pdf(document: Document) -> bool:
    """Return whether a document has the header of a PDF. Only its first bytes are decoded."""
    reader = reader_of(document.payload)
    return reader is not None and documents.is_pdf(_read(reader, 0, _HEAD))


def is_encrypted(document: Document) -> bool:
    """Return whether the first or the last bytes of a document name its encryption."""
    reader = reader_of(document.payload)
    return reader is not None and any(
        documents.names_encryption(_read(reader, start, _PIECE))
        for start in (0, max(reader.size - _PIECE, 0))
    )


def reader_of(payload: Payload) -> Reader | None:
    """Return a reader of the bytes of a payload; None if it is not base64."""
    data, start = payload.data, payload.start
    try:
        return images.base64_reader(data, start) if isinstance(data, str) else bytes_reader(data)
    except Base64Error:
        return None


def _read(reader: Reader, start: int, length: int) -> bytes:
    try:
        return reader.read_at(start, length)
    except Base64Error:
        return b""


def facts_of(document: Document) -> PdfFacts:
    """Return the facts about a document. Its content is read once in a process."""
    payload = document.payload
    recent = _recent.get((id(payload.data), payload.start))
    if recent is not None and recent[0] is payload.data:
        return recent[1]
    facts = _facts_by_content(document)
    if (
        len(_recent) >= _MOST_RECENT
        or sum(len(data) for data, _ in _recent.values()) > _RECENT_SIZE
    ):
        _recent.clear()
    if len(payload.data) <= _RECENT_SIZE:
        _recent[id(payload.data), payload.start] = (payload.data, facts)
    return facts


def _facts_by_content(document: Document) -> PdfFacts:
    key = document.payload.key()
    if (known := _known.get(key)) is not None:
        return known
    try:
        facts = documents.probe_pdf(document.payload.decode())
    except ValueError:
        facts = documents.PdfFacts(size_of(document), is_pdf=False)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = facts
    return facts


def pages_of(document: Document) -> int:
    """Return the number of pages of a PDF; 0 if it is not known."""
    return (facts_of(document).pages or 0) if document.is_called_pdf else 0


def size_of(document: Document) -> int:
    """Return the size of a document in bytes, from the length of its base64."""
    payload = document.payload
    if isinstance(payload.data, bytes):
        return len(payload.data)
    return payload.text_size // 4 * 3 - payload.data[-2:].count("=")


def content_of(document: Document) -> Content | None:
    """Return the text of a document that is a text or a .docx; None for any other file."""
    if document.payload.text_size > _LARGEST_FILE:
        return None
    try:
        data = document.payload.decode()
    except ValueError:
        return None
    if documents.is_pdf(data[:_HEAD]):
        return None
    if documents.is_zip(data):
        text = documents.read_docx(data)
    else:
        is_called_text = is_text_type(document.media_type)
        text = documents.decode_text(data, is_called_text=is_called_text)
    if text is None or not text.strip():
        return None
    return Content(text[:_LONGEST_TEXT], len(text) <= _LONGEST_TEXT)
