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
from chatmend.rules.image_repair import ImageRepair, repair_images
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
        if found is None or not _is_refused(found, part.extra, context.limits, context.traits):
            return None
        text = document_words.replacement(found, _WHY)
        why = f"{document_words.measure_attachment(found)}: {_WHY}"
        return ImageRepair((document_words.text_part(part, text, context),), why, _effect_of(found))

    yield from repair_images(window, context, repair_document)


def _is_refused(found: Attachment, native: dict[str, Any], limits: Limits, traits: Traits) -> bool:
    """Return whether the target refuses a document with data, by its type or its form."""
    types = limits.of(_LIMIT)
    if found.kind != "document":
        return False
    if found.text is not None:
        if limits.of(_TEXTS) is False and found.shape == "source":
            return True
        own = DOCUMENT_SHAPES.get(traits.image_shapes[0]) if traits.image_shapes else found.shape
        known = limits.part_types is None or native.get("type") in tuple(limits.part_types)
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
    """Make the judge of documents: whether the target refuses one."""

    def judge(part: dict[str, Any]) -> object:
        found = find_attachment(part)
        return found is not None and _is_refused(found, part, limits, traits)

    return None if limits.roles is None else judge


RULE = Rule(
    "DOC005",
    "refused-document-type",
    find,
    {"parts": KeyedJudge(ATTACHMENT_KEYS, _make_judge)},
    own_limits={_LIMIT: list[str], _TEXTS: bool},
)
