"""A document whose declared media type is wrong, or whose data is not in standard form.

Why: ``Expected a base64-encoded data URL with an application/pdf MIME type (e.g.
'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ==')`` (OpenAI); ``document.source.base64.media_type:
Input should be 'application/pdf'``, ``document.source.text.media_type: Input should be
'text/plain'`` (Anthropic). Applications send the base64 alone, or a data URL in a field for base64,
or call a text what its file was, such as ``text/csv``.

Repair: The media type is taken from the first bytes, and the data is rewritten in the form that the
part requires. A document that is given as a text is ``text/plain``. The document itself is
unchanged.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "file", "file": {
        "filename": "a.pdf", "file_data": "JVBERi0xLjQK"}}]}]
After:
    [{"role": "user", "content": [{"type": "file", "file": {
        "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.documents import (
    DOCUMENT_KEYS,
    find_document,
    is_canonical,
    is_mislabelled_text,
    replace_data,
)
from chatmend.dialects.media_types import PDF, PLAIN
from chatmend.images.addresses import is_misspelt
from chatmend.images.payload import standard_base64
from chatmend.rules.document_facts import is_pdf
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
_NEED_DATA_URLS = ("file", "input")
_LABEL, _FORM = "the media type is wrong", "the data is not in the form that providers read"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for documents with a wrong media type or data that the target cannot read."""
    if not context.limits.of(_LIMIT):
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        if is_mislabelled_text(part.extra):
            source = {**part.extra["source"], "media_type": PLAIN}
            relabelled = replace(part, native={**part.extra, "source": source})
            return ImageRepair((relabelled,), _LABEL, Effect.RESHAPES)
        document = find_document(part.extra)
        problem = None if document is None else _problem_of(document, context.limits)
        if document is None or problem is None:
            return None
        media_type = PDF if is_pdf(document) else document.media_type
        try:
            data = standard_base64(document.payload)
        except ValueError:
            return None  # the rule about unreadable documents replaces it
        native = replace_data(part.extra, document.shape, data, media_type)
        return ImageRepair((replace(part, native=native),), problem, Effect.RESHAPES)

    yield from repair_images(window, context, repair_document)


def _problem_of(document: Document, limits: Limits) -> str | None:
    payload = document.payload
    if not payload.text_size or not document.media_type:
        return None
    if is_pdf(document) and (document.media_type != PDF or payload.label not in (PDF, None)):
        return _LABEL
    is_bare = document.shape in _NEED_DATA_URLS and payload.start == 0
    if not payload.is_exact or (is_bare and isinstance(payload.data, str)):
        return _FORM
    if is_misspelt(payload.label_spelling, limits.images):
        return _LABEL
    return _FORM if limits.images.strict_base64 and not is_canonical(payload) else None


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: what has to be rewritten."""

    def judge(part: dict[str, Any]) -> object:
        if is_mislabelled_text(part):
            return _LABEL
        document = find_document(part)
        return None if document is None else _problem_of(document, limits)

    return judge if limits.of(_LIMIT) else None


RULE = Rule(
    "DOC008", "mislabelled-document", find, {"parts": KeyedJudge(DOCUMENT_KEYS, _make_judge)}
)
