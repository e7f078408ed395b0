"""A content part that the target cannot read: a bare string, no type, a type of another provider.

Why: ``Missing required parameter: 'messages[1].content[0].type'.`` (OpenAI); ``Input tag 'image_url' found using 'type'
does not match any of the expected tags`` (Anthropic).

Repair: a string becomes a text part; what has no readable type is told as text, as JSON. A part of a known type is never
touched.

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
from chatmend.dialects.content import TEXTS
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Media, Opaque, Part, Text, Thinking, ToolResult
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Parts without a type, or with one that is not known."""
    limits = context.limits
    if limits.part_types is None and limits.typeless_parts and limits.bare_strings:
        return
    for at, message in enumerate(window.messages):
        listed = isinstance(message.native, dict) and isinstance(message.native.get("content"), list)
        parts = tuple(_readable(part, context, listed=listed) for part in message.parts)
        if any(old is not new for old, new in zip(message.parts, parts, strict=True)):
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the target cannot read the part", Effect.DEGRADES)


def _readable(part: Part, context: Context, *, listed: bool) -> Part:
    if isinstance(part, ToolResult):
        inner = isinstance(part.native, dict) and isinstance(part.native.get("content"), list)
        content = tuple(_readable(p, context, listed=inner) for p in part.content)
        same = all(old is new for old, new in zip(part.content, content, strict=True))
        return part if same else replace(part, content=content)
    native = part.native
    if isinstance(part, Text):
        if isinstance(native, str) and listed and not context.limits.bare_strings:
            return Text(part.text, {"type": "text", "text": ""})
        if not isinstance(native, dict) or (isinstance(native.get("type"), str) and _is_known(native, context)):
            return part
        return Text(part.text, {**native, "type": "text"} if native.get("type") is None else None)
    if isinstance(part, Media | Thinking):
        return part if not isinstance(native, dict) or _is_known(native, context) else _told(part)
    if not isinstance(part, Opaque):
        return part
    if (
        isinstance(native, dict)
        and isinstance(native.get("type"), str)
        and native["type"]
        and _is_known(native, context)
    ):
        return part if native["type"] not in TEXTS else _told(part)
    return _told(part)


def _told(part: Part) -> Part:
    return Text(jsontext.dumps(part.native), {"type": "text", "text": ""})


def _is_known(native: dict[str, object], context: Context) -> bool:
    known = context.limits.part_types
    if context.top_level_system or known is None:
        return True
    return native.get("type") in known


RULE = Rule("PART001", "unknown-part", Symptom.PART | Symptom.CONTENT, find)
