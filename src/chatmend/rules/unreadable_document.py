"""A PDF that is empty, or a file of another type that is called a PDF.

Why: ``messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid.`` and ``Could
not process PDF`` (Anthropic). The document is sent again with every turn, so the session ends.

Repair: A text replaces the document. It is the content, if the file is a text or a ``.docx``, and
otherwise states what was removed. A PDF with a header is unchanged, even if it is damaged. An
encrypted PDF is replaced too, except if it opens without a password, as PDFs do that only restrict
printing: such a PDF is unchanged and reported as a finding. Encryption of revision 6 (AES-256)
counts as needing a password.

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
from chatmend.dialects.documents import DOCUMENT_KEYS, find_document
from chatmend.rules import document_words
from chatmend.rules.document_facts import content_of, facts_of, is_encrypted, is_pdf
from chatmend.rules.image_repair import ImageRepair, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

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
_NOT_PDF, _EMPTY = "it is not a PDF", "it is empty"
_ENCRYPTED, _OPENS = "it is encrypted", "it is encrypted, but opens without a password"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace malformed and encrypted PDFs, and findings for readable ones."""
    if not context.limits.of(_LIMIT):
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        document = find_document(part.extra)
        problem = None if document is None else _problem_of(document)
        if document is None or problem is None:
            return None
        if problem == _OPENS:
            why = f"{document_words.measure(document)} is encrypted; the target may refuse it"
            return ImageRepair((part,), why, Effect.DEGRADES, finding=True)
        text, effect = _replacement(document, problem)
        why = f"{document_words.measure(document)}: {problem}"
        return ImageRepair((document_words.text_part(part, text, context),), why, effect)

    yield from repair_images(window, context, repair_document)


def _problem_of(document: Document) -> str | None:
    """Return why a document that is called a PDF cannot be read; None if it is intact."""
    if not document.is_called_pdf:
        return None
    if not is_pdf(document):
        return _NOT_PDF if document.payload.text_size else _EMPTY
    if not is_encrypted(document):
        return None
    return _OPENS if facts_of(document).opens_freely else _ENCRYPTED


def _replacement(document: Document, problem: str) -> tuple[str, Effect]:
    """Return the text that replaces a malformed PDF, and the effect."""
    content = content_of(document) if problem == _NOT_PDF else None
    if content is None:
        return document_words.removed_text(document, problem), Effect.DROPS
    effect = Effect.RESHAPES if content.is_whole else Effect.DEGRADES
    return document_words.content_text(document.name, content), effect


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: its class is what is wrong with one."""

    def judge(part: dict[str, Any]) -> object:
        document = find_document(part)
        return None if document is None else _problem_of(document)

    return judge if limits.of(_LIMIT) else None


RULE = Rule(
    "DOC002",
    "unreadable-document",
    find,
    {"parts": KeyedJudge(DOCUMENT_KEYS, _make_judge)},
    own_limits={_LIMIT: bool},
)
