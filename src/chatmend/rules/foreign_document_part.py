"""A document, a recording or the id of a stored file in the format of another provider.

Why: ``Input tag 'file' found using 'type' does not match any of the expected tags`` (Anthropic).
Applications mix formats, and a fallback changes the provider.

Repair: The part is rewritten in the format of the other messages. The file itself is unchanged. A
text in the same part, such as the transcript of a recording, becomes a text before it. Gemini's
format has no place for the name of a file.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [
         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"},
         {"type": "file", "file": {
             "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}]}]
After: an Anthropic ``document`` with the same data and the title ``a.pdf``
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect
from chatmend.dialects.attachments import ATTACHMENT_KEYS, find_attachment, text_beside_file
from chatmend.dialects.documents import (
    DOCUMENT_SHAPES,
    STORED_UNDER,
    convert_document,
    find_document,
)
from chatmend.dialects.recast import convert_attachment
from chatmend.jsontext import strings
from chatmend.rules import document_words
from chatmend.rules.image_repair import ImageRepair, accepted_types, accepts_type, repair_images
from chatmend.rules.rule import KeyedJudge, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.changes import Fix
    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.dialects.attachments import Attachment
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Media, Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for documents in a format that the target and the dialect do not have."""
    limits, shapes = context.limits, context.traits.image_shapes
    own = DOCUMENT_SHAPES.get(shapes[0]) if shapes else None
    if limits.roles is None or own is None:
        return

    def repair_document(part: Media, role: str) -> ImageRepair | None:
        native, found = part.extra, find_attachment(part.extra)
        if found is None or not part.is_object or _is_own_form(native, found, own):
            return None
        # The type of a flat part may be known, but not its form.
        is_any_form = found.shape != "flat" or accepted_types(role, limits) is None
        is_known = is_any_form and accepts_type(part, role, limits)
        if is_known and not context.traits.types_by_role:
            return None
        becomes = _convert(native, found, own, shapes[0])
        if becomes is None:
            return None
        why = f"the {found.kind} is in another provider's format"
        parts: tuple[Part, ...] = (replace(part, native=becomes),)
        beside = text_beside_file(native)
        if beside is not None and beside not in set(strings(becomes)):
            parts = (document_words.caption_part(part, beside, context), *parts)
        # Gemini's format has no place for a name.
        effect = Effect.DROPS if own == "inline" and found.name else Effect.RESHAPES
        return ImageRepair(parts, why, effect)

    yield from repair_images(window, context, repair_document)


def _is_own_form(native: dict[str, Any], found: Attachment, own: str) -> bool:
    """Return whether a part holds a file in a form that the dialect has."""
    if found.shape == "stored":
        is_own = any(key in native for key in STORED_UNDER[own])
        return is_own or native.get("type") == "container_upload"
    return found.shape == own or (own == "input" and found.shape == "audio")


def _convert(
    native: dict[str, Any], found: Attachment, own: str, shape: str
) -> dict[str, Any] | None:
    """Return the part in the format of the dialect; None if that is impossible."""
    document = find_document(native)
    if document is not None:
        return convert_document(native, document, own)
    return convert_attachment(found, shape)


def _make_judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of files: its class is what decides about the conversion."""

    def judge(part: dict[str, Any]) -> object:
        found = find_attachment(part)
        if found is None:
            return None
        return (found.shape, found.media_type, found.payload is None, found.reference[:5])

    return None if limits.roles is None else judge


RULE = Rule(
    "DOC004", "foreign-document-part", find, {"parts": KeyedJudge(ATTACHMENT_KEYS, _make_judge)}
)
