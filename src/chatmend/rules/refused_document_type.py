"""A document of a type that the target refuses, such as a Word file or a table.

Why: ``Expected a base64-encoded data URL with an application/pdf MIME type ..., but got unsupported
MIME type 'text/markdown'`` (OpenAI, Chat Completions); ``document.source.base64.media_type: Input
should be 'application/pdf'`` (Anthropic); ``Unsupported MIME type:
application/vnd.openxmlformats-officedocument.wordprocessingml.document`` (Gemini).

Repair: A text, a table in CSV or a ``.docx`` becomes a text with its content. Any other file is
replaced by a text with its name, type and size. Of a text with more than 400,000 characters the
first ones are sent.

Before (openai/gpt-4.1):
    [{"role": "user", "content": [{"type": "file", "file": {
        "filename": "sums.csv", "file_data": "data:text/csv;base64,YSxiCjEsMgo="}}]}]
After:
    [{"role": "user", "content": [
        {"type": "text", "text": "Document sums.csv:\\na,b\\n1,2\\n"}]}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.attachments import ATTACHMENT_KEYS, find_attachment
from chatmend.dialects.documents import DOCUMENT_SHAPES
from chatmend.dialects.media_types import DOCX, is_one_of_types
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, accepts_type, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.dialects.attachments import Attachment
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window

_LIMIT, _TEXTS = "document_types", "text_documents"
_WHY = "this model does not take documents of this type"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that replace documents of refused types by their content or a note."""
    if context.limits.roles is None:
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        found = find_attachment(part.extra)
        known = accepts_type(part, role, context.limits)
        if found is None or not _is_refused(found, context.limits, context.traits, known=known):
            return None
        text = document_words.replacement(found, _WHY)
        why = f"{document_words.measure_attachment(found)}: {_WHY}"
        return ImageRepair((document_words.text_part(part, text, context),), why, _effect_of(found))

    yield from repair_images(window, context, repair_document)


def _is_refused(found: Attachment, limits: Limits, traits: Traits, *, known: bool) -> bool:
    """Return whether the target refuses a document with data, by its type or its form.

    ``known``: whether it accepts parts of the document's type in this message.
    """
    types = limits.of(_LIMIT)
    if found.kind != "document":
        return False
    if found.text is not None:
        if limits.of(_TEXTS) is False and found.shape == "source":
            return True
        own = DOCUMENT_SHAPES.get(traits.image_shapes[0]) if traits.image_shapes else found.shape
        return found.shape != own and (traits.types_by_role or not known)
    if types is None or found.payload is None or not found.payload.text_size:
        return False
    return not is_one_of_types(found.media_type, types)


def _effect_of(found: Attachment) -> Effect:
    content = document_words.content_of_attachment(found)
    if content is None:
        return Effect.DROPS
    return Effect.RESHAPES if content.is_whole and found.media_type != DOCX else Effect.DEGRADES


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: whether the target refuses one of a known or unknown type."""

    def judge(part: dict[str, Any]) -> object:
        found = find_attachment(part)
        if found is None:
            return None
        refused = [_is_refused(found, limits, traits, known=known) for known in (True, False)]
        return tuple(refused) if any(refused) else None

    return None if limits.roles is None else judge


RULE = Rule(
    "DOC005",
    "refused-document-type",
    find,
    {"parts": KeyedJudge(ATTACHMENT_KEYS, _make_judge)},
    own_limits={_LIMIT: list[str], _TEXTS: bool},
)
