"""Texts that replace a document: neutral, and constant for the same document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend import images

if TYPE_CHECKING:
    from chatmend.dialects.documents import Document

_LONGEST_TEXT = 400_000
"""A file with more bytes is not sent as text."""


def describe(document: Document, pages: int | None = None) -> str:
    """Return name, size and number of pages of a document."""
    size = document.payload.text_size // 4 * 3
    parts = [document.name or "unnamed", images.format_size(size)]
    return ", ".join([*parts, f"{pages} pages"] if pages is not None else parts)


def removed_text(document: Document, why: str, pages: int | None = None) -> str:
    """Return the text that replaces a document: what it was, and why it was removed."""
    return f"Document removed ({describe(document, pages)}): {why}."


def content_text(document: Document, content: str) -> str:
    """Return the text that replaces a document by its content."""
    return f"Document {document.name}:\n{content}" if document.name else content


def decode_text(document: Document) -> str | None:
    """Return the content of a file that is a text in UTF-8; None for any other file."""
    if document.payload.text_size > _LONGEST_TEXT * 4 // 3:
        return None
    try:
        content = document.payload.decode().decode("utf-8")
    except ValueError:
        return None
    return content if all(char.isprintable() or char in "\t\r\n\f" for char in content) else None
