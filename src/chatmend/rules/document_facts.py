"""Inspects the documents of a transcript; the facts about a content are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend import documents, images
from chatmend.images.reader import Base64Error, bytes_reader

if TYPE_CHECKING:
    from chatmend.dialects.documents import Document
    from chatmend.documents import PdfFacts
    from chatmend.images.reader import Reader

_HEAD, _PIECE = 1024, 4096
_MOST_KNOWN = 512
_known: dict[bytes, PdfFacts] = {}
"""Facts by the hash of the content, so that they depend on nothing else."""


def is_pdf(document: Document) -> bool:
    """Return whether a document has the header of a PDF. Only its first bytes are decoded."""
    reader = _reader_of(document)
    return reader is not None and documents.is_pdf(_read(reader, 0, _HEAD))


def is_encrypted(document: Document) -> bool:
    """Return whether the first or the last bytes of a document name its encryption."""
    reader = _reader_of(document)
    return reader is not None and any(
        documents.names_encryption(_read(reader, start, _PIECE))
        for start in (0, max(reader.size - _PIECE, 0))
    )


def _reader_of(document: Document) -> Reader | None:
    data, start = document.payload.data, document.payload.start
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
    key = document.payload.key()
    if (known := _known.get(key)) is not None:
        return known
    try:
        facts = documents.probe_pdf(document.payload.decode())
    except ValueError:
        facts = documents.PdfFacts(document.payload.text_size // 4 * 3, is_pdf=False)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = facts
    return facts
