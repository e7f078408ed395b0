"""More pages of PDF documents in one request than the target accepts.

Why: ``A maximum of 100 PDF pages may be provided.`` (Anthropic). The pages of all documents in the
history count, so the session ends with the document that exceeds the limit.

Repair: The oldest documents are replaced by texts with their names and numbers of pages, in coarse
steps: if the limit is exceeded, enough documents are removed at once to leave a quarter of it free,
except for the newest one. A document whose pages cannot be counted counts as none. DOC006 repairs
a document that alone has too many pages.

Before (anthropic/claude-sonnet-4-5): a report of 90 pages, and later a contract of 30
After: the text ``Document removed (report.pdf, 1.2 MB, 90 pages): the request held more pages than
the model takes.``, and later the contract
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.rules import document_words
from chatmend.rules.document_facts import pages_of
from chatmend.rules.document_totals import Total, apply_total, may_hold_documents
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.changes import Change
    from chatmend.context import Context
    from chatmend.dialects.documents import Document

CODE, NAME = "DOC003", "too-many-pages"
_LIMIT = "max_pdf_pages"
_WHY = "the request held more pages than the model takes"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace the oldest documents if there are too many pages; return one change per message."""
    most = context.limits.of(_LIMIT)
    if most is None:
        return request, []
    why = "too many PDF pages for one request; oldest documents removed: {}"
    return apply_total(request, context, Total(CODE, NAME, most, pages_of, _write, why))


def _write(document: Document, pages: int) -> str:
    return document_words.removed_text(document, _WHY, pages)


RULE = RequestRule(CODE, NAME, apply, may_hold_documents, own_limits={_LIMIT: int})
