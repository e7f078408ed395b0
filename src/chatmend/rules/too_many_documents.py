"""More documents in one request than the target accepts.

Why: ``You can't include more than 5 documents in a request.`` (Bedrock). The documents of the whole
history count, so the session ends with the sixth.

Repair: The oldest documents are replaced by texts with their names and sizes, in coarse steps: if
the limit is exceeded, enough documents are removed at once to leave a quarter of it free. So what
was sent stays a prefix of what is sent, except for one change per step.

Before (bedrock/us.amazon.nova-pro-v1:0): six messages, each with a report
After: the texts ``Document removed (report 1, 1.2 MB): the request held more documents than the
model takes.`` in the first three messages, and the last three reports
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.rules import document_words
from chatmend.rules.document_totals import Total, apply_total, may_hold_documents
from chatmend.rules.rule import Request, RequestRule

if TYPE_CHECKING:
    from chatmend.changes import Change
    from chatmend.context import Context
    from chatmend.dialects.documents import Document

CODE, NAME = "DOC007", "too-many-documents"
_LIMIT = "max_documents"
_WHY = "the request held more documents than the model takes"


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace the oldest documents if there are too many; return one change per message."""
    most = context.limits.of(_LIMIT)
    if most is None:
        return request, []
    why = "too many documents for one request; oldest documents removed: {}"
    return apply_total(request, context, Total(CODE, NAME, most, lambda _: 1, _write, why))


def _write(document: Document, _: int) -> str:
    return document_words.removed_text(document, _WHY)


RULE = RequestRule(CODE, NAME, apply, may_hold_documents, own_limits={_LIMIT: int})
