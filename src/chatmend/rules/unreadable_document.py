"""A PDF that is empty, or a file of another type that is called a PDF.

Why: ``messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid.`` and ``Could
not process PDF`` (Anthropic). The document is sent again with every turn, so the session ends.

Repair: A text replaces the document. It is the content, if the file is a text, and otherwise states
what was removed. A PDF with a header is unchanged, even if it is damaged. An encrypted PDF is
unchanged and reported as a finding, because only the password decides whether it can be read.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "text", "text": "Summarise it."},
         {"type": "document", "title": "report.pdf", "source": {
             "type": "base64", "media_type": "application/pdf", "data": ""}}]}]
After:
    [{"role": "user", "content": [
         {"type": "text", "text": "Summarise it."},
         {"type": "text", "text": "Document removed (report.pdf, 0 bytes): it is empty."}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.documents import DOCUMENT_KEYS, find_document, text_in_place_of
from chatmend.rules import document_words
from chatmend.rules.document_facts import is_encrypted, is_pdf
from chatmend.rules.image_repair import ImageRepair, repair_images
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.transcript import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.dialects.documents import Document
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window

_LIMIT = "pdf_checked"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace malformed PDFs, and findings for encrypted ones."""
    if not context.limits.of(_LIMIT):
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        document = find_document(part.extra)
        if document is None:
            return None
        if is_pdf(document):
            return _find_encryption(part, document)
        text, effect = _replacement(document)
        why = f"{document_words.describe(document)} is not a PDF"
        return ImageRepair((Text(text, text_in_place_of(part.extra, text)),), why, effect)

    yield from repair_images(window, context, repair_document)


def _replacement(document: Document) -> tuple[str, Effect]:
    """Return the text that replaces a malformed PDF, and the effect."""
    content = document_words.decode_text(document)
    if content is not None and content.strip():
        return document_words.content_text(document, content), Effect.RESHAPES
    reason = "it is not a PDF" if document.payload.text_size else "it is empty"
    return document_words.removed_text(document, reason), Effect.DROPS


def _find_encryption(part: Media, document: Document) -> ImageRepair | None:
    if not is_encrypted(document):
        return None
    why = f"{document_words.describe(document)} is encrypted; the target may refuse it"
    return ImageRepair((part,), why, Effect.DEGRADES, finding=True)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: its class is ``not a PDF`` or ``encrypted``."""

    def judge(part: dict[str, Any]) -> object:
        document = find_document(part)
        if document is None:
            return None
        if not is_pdf(document):
            return "not a PDF"
        return "encrypted" if is_encrypted(document) else None

    return judge if limits.of(_LIMIT) else None


RULE = Rule(
    "DOC002",
    "unreadable-document",
    find,
    {"parts": KeyedJudge(DOCUMENT_KEYS, _make_judge)},
    own_limits={_LIMIT: bool, "max_pdf_pages": int},
)
