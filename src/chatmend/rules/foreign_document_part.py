"""A PDF document in the format of another provider.

Why: ``Input tag 'file' found using 'type' does not match any of the expected tags`` (Anthropic).
Applications mix formats, and a fallback changes the provider.

Repair: The part is rewritten in the format of the other messages. The document itself is unchanged.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"},
         {"type": "file", "file": {
             "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}]}]
After: an Anthropic ``document`` with the same data and the title ``a.pdf``
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect
from chatmend.dialects.documents import (
    DOCUMENT_KEYS,
    DOCUMENT_SHAPES,
    convert_document,
    find_document,
)
from chatmend.rules.image_repair import ImageRepair, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for documents in a format that the target and the dialect do not have."""
    limits, shapes = context.limits, context.traits.image_shapes
    own = DOCUMENT_SHAPES.get(shapes[0]) if shapes else None
    if limits.roles is None or own is None:
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        native, document = part.extra, find_document(part.extra)
        if document is None or not part.is_object or document.shape == own:
            return None
        known = limits.part_types is None or native.get("type") in tuple(limits.part_types)
        if known and not context.traits.types_by_role:
            return None
        becomes = convert_document(native, document, own)
        if becomes is None:
            return None
        why = "the document is in another provider's format"
        return ImageRepair((replace(part, native=becomes),), why, Effect.RESHAPES)

    yield from repair_images(window, context, repair_document)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of documents: its class is the shape of one with data."""

    def judge(part: dict[str, object]) -> object:
        document = find_document(part)
        return None if document is None else document.shape

    return None if limits.roles is None else judge


RULE = Rule(
    "DOC004", "foreign-document-part", find, {"parts": KeyedJudge(DOCUMENT_KEYS, _make_judge)}
)
