"""Texts that replace a file or are sent with it: neutral, and constant for the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend import documents, images
from chatmend.dialects.attachments import text_beside_file
from chatmend.dialects.documents import Document, is_of_dialect, text_in_place_of
from chatmend.rules.document_facts import Content, content_of, reader_of, size_of
from chatmend.transcript import Text

if TYPE_CHECKING:
    from chatmend.context import Context
    from chatmend.dialects.attachments import Attachment
    from chatmend.transcript import Media, Opaque

_NAMES = {"audio": "Audio", "video": "Video", "image": "Image", "document": "Document"}
_SECONDS, _MINUTE = 60, 60
_LONGEST_LINK = 200


def describe(document: Document, pages: int | None = None) -> str:
    """Return name, size and number of pages of a document."""
    parts = [document.name or "unnamed", images.format_size(size_of(document))]
    return ", ".join([*parts, f"{pages} pages"] if pages else parts)


def measure(document: Document, pages: int | None = None) -> str:
    """Return size and number of pages of a document, for a report, which names no file."""
    size = f"a document of {images.format_size(size_of(document))}"
    return f"{size}, {pages} pages" if pages else size


def measure_attachment(attachment: Attachment) -> str:
    """Return kind, duration and size of a file, for a report, which names no file."""
    if attachment.payload is None:
        return attachment.kind
    reader = reader_of(attachment.payload) if attachment.kind in ("audio", "video") else None
    facts = documents.probe_recording(reader) if reader is not None else None
    parts = [f"{attachment.kind} of {images.format_size(_bytes_of(attachment))}"]
    if facts is not None and facts.seconds is not None:
        parts.append(_duration(facts.seconds))
    return ", ".join(parts)


def removed_text(document: Document, why: str, pages: int | None = None) -> str:
    """Return the text that replaces a document: what it was, and why it was removed."""
    return f"Document removed ({describe(document, pages)}): {why}."


def content_text(name: str, content: Content) -> str:
    """Return the text that replaces a document by its content."""
    if content.is_whole:
        return f"Document {name}:\n{content.text}" if name else content.text
    return (
        f"Document {name or 'unnamed'}, its first {len(content.text)} characters:\n{content.text}"
    )


def pages_text(document: Document, first: int, last: int, pages: int) -> str:
    """Return the caption of a part of a document."""
    return f"Document {describe(document, pages)}: pages {first} to {last}."


def describe_attachment(attachment: Attachment) -> str:
    """Return name, type, duration and size of a file, or what names it."""
    payload = attachment.payload
    parts = [attachment.name] if attachment.name else []
    if payload is None:
        named = attachment.media_type.strip("/")
        parts += [named] if "/" in named else []
        return ", ".join([*parts, attachment.reference[:_LONGEST_LINK]])
    reader = reader_of(payload) if attachment.kind in ("audio", "video") else None
    facts = documents.probe_recording(reader) if reader is not None else None
    kind = facts.type if facts is not None and facts.type else attachment.media_type.strip("/")
    parts += [kind] if kind else []
    if facts is not None and facts.seconds is not None:
        parts.append(_duration(facts.seconds))
    return ", ".join([*parts, images.format_size(_bytes_of(attachment))])


def _bytes_of(attachment: Attachment) -> int:
    payload = attachment.payload
    if payload is None:
        return 0
    return len(payload.data) if isinstance(payload.data, bytes) else payload.text_size // 4 * 3


def _duration(seconds: float) -> str:
    """Return a duration such as ``4.2 s`` or ``12 min 5 s``."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _SECONDS)
    return f"{minutes} min {rest} s"


def removed_attachment(attachment: Attachment, why: str) -> str:
    """Return the text that replaces a file: what it was, and why it was removed."""
    return f"{_NAMES[attachment.kind]} removed ({describe_attachment(attachment)}): {why}."


def content_of_attachment(attachment: Attachment) -> Content | None:
    """Return the text of a file; None if it has none, or if the part only names it."""
    if attachment.text is not None:
        return Content(attachment.text, is_whole=True)
    if attachment.payload is None or attachment.kind != "document":
        return None
    shape, name = attachment.shape, attachment.name
    return content_of(Document(attachment.payload, name, shape, attachment.media_type))


def replacement(attachment: Attachment, why: str) -> str:
    """Return the content of a file as text; if it has none, what it was and why it was removed."""
    content = content_of_attachment(attachment)
    if content is None:
        return removed_attachment(attachment, why)
    return content_text(attachment.name, content)


def stored_text(attachment: Attachment, owner: str) -> str:
    """Return the text that replaces a file which another provider stores."""
    what = describe_attachment(attachment)
    return f"{_NAMES[attachment.kind]} not available ({what}): it is stored at {owner}."


def with_own_text(native: dict[str, Any], file_text: str) -> str:
    """Return the text of a file, after the text that its part may also hold."""
    own = text_beside_file(native)
    return file_text if own is None or own in file_text else f"{own}\n\n{file_text}"


def text_part(part: Media | Opaque, text: str, context: Context) -> Text:
    """Return a text in place of a part, in the same dialect and with its cache marker."""
    return caption_part(part, with_own_text(part.extra, text), context)


def caption_part(part: Media | Opaque, text: str, context: Context) -> Text:
    """Return a text in the dialect of a part, with its cache marker and without its own text."""
    shapes = context.traits.image_shapes
    if shapes and not is_of_dialect(part.extra, shapes[0]):
        return Text(text)
    return Text(text, text_in_place_of(part.extra, text, shapes))
