"""A content part that the target cannot read: a bare string, no type, a type of another provider.

Why: ``Missing required parameter: 'messages[1].content[0].type'.`` (OpenAI); ``Input tag 'image_url' found using 'type'
does not match any of the expected tags`` (Anthropic).

Repair: a string becomes a text part, an image of another provider's dialect is written in this one's; anything else that
has no readable type is told as text, as JSON. A part of a known type is never touched.

Before (openai/gpt-4o):
    [{"role": "user", "content": ["look", {"text": "here"}]}]
After:
    [{"role": "user", "content": ["look", {"text": "here", "type": "text"}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.content import TEXTS, image_block, image_url
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolResult, is_unchanged
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Parts without a type, or with one that is not known."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        listed = isinstance(message.native, dict) and isinstance(message.native.get("content"), list)
        known = _known(message, context)
        parts = tuple(_readable(part, known, context, listed=listed) for part in message.parts)
        changed = [(old, new) for old, new in zip(message.parts, parts, strict=True) if old is not new]
        if changed:
            kept = all(isinstance(old, Text) or isinstance(new, Media) for old, new in changed)
            effect = Effect.RESHAPES if kept else Effect.DEGRADES
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the target cannot read the part", effect)


def _known(message: Message, context: Context) -> frozenset[str] | None:
    """The types that may stand in a message; None: any. What the model itself wrote it may read again."""
    if not context.top_level_system:
        return context.limits.part_types
    return None if message.is_assistant else context.limits.block_types


def _readable(part: Part, known: frozenset[str] | None, context: Context, *, listed: bool) -> Part:
    limits, native = context.limits, getattr(part, "native", None)
    if isinstance(part, ToolResult):
        inner = isinstance(part.native, dict) and isinstance(part.native.get("content"), list)
        content = tuple(_readable(p, known, context, listed=inner) for p in part.content)
        same = is_unchanged(part.content, content)
        return part if same else replace(part, content=content)
    kind = native.get("type") if isinstance(native, dict) else None
    if isinstance(part, Text):
        if isinstance(native, str):
            return Text(part.text, {"type": "text", "text": ""}) if listed and not limits.bare_strings else part
        if not isinstance(native, dict) or (isinstance(kind, str) and (known is None or kind in known)):
            return part
        if kind is None:
            return (
                part if limits.typeless_parts and "type" not in native else Text(part.text, {**native, "type": "text"})
            )
        return Text(part.text)
    if isinstance(part, Media | Thinking):
        return part if not isinstance(native, dict) or known is None or kind in known else _translated(part, context)
    if isinstance(part, Opaque) and not _may_stay(native, known, context):
        return _told(part)
    return part


def _may_stay(native: object, known: frozenset[str] | None, context: Context) -> bool:
    """Whether something that we cannot read may be one that the target can."""
    if not isinstance(native, dict):
        return False
    if native and "type" not in native:
        return context.limits.typeless_parts
    kind = native.get("type")
    return isinstance(kind, str) and bool(kind) and kind not in TEXTS and (known is None or kind in known)


def _translated(part: Media | Thinking, context: Context) -> Part:
    """An image of another dialect in this one's words; anything else is told."""
    if isinstance(part, Media) and part.kind == "image":
        native = image_block(part.native) if context.top_level_system else image_url(part.native)
        if native is not None:
            return Media(native)
    return _told(part)


def _told(part: Part) -> Part:
    native = getattr(part, "native", None)
    says = bool(native) if not isinstance(native, dict) else any(key != "type" for key in native)
    return Text(jsontext.dumps(native) if says else "", {"type": "text", "text": ""})


RULE = Rule("PART001", "unknown-part", Symptom.PART | Symptom.CONTENT, find)
