"""Inspects the documents of a transcript; the facts about a content are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend import documents, images
from chatmend.images.reader import Base64Error

if TYPE_CHECKING:
    from chatmend.dialects.documents import Document
    from chatmend.documents import PdfFacts

_HEAD = 1024
_MOST_KNOWN = 512
_known: dict[bytes, PdfFacts] = {}
"""Facts by the hash of the content, so that they depend on nothing else."""


def head_of(document: Document) -> bytes:
    """Return the first bytes of a document; none if the data is not base64."""
    data, start = document.payload.data, document.payload.start
    if not isinstance(data, str):
        return data[:_HEAD]
    try:
        return images.base64_reader(data, start).read_at(0, _HEAD)
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
