"""A content part that the target cannot read: a bare string, no type, a type or a file of another provider.

Why: ``Missing required parameter: 'messages[1].content[0].type'.`` (OpenAI); ``Input tag 'image_url' found using 'type'
does not match any of the expected tags`` (Anthropic).

Repair: a string becomes a text part; what has no readable type is told as text, as JSON. A part of a known type is never
touched, unless it names a file that only another provider holds (``file-...`` of OpenAI, sent to Gemini).

Before (openai/gpt-4o):
    [{"role": "user", "content": ["look", {"text": "here"}]}]
After:
    [{"role": "user", "content": ["look", {"text": "here", "type": "text"}]}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.content import TEXTS, file_id
from chatmend.dialects.pictures import is_held
from chatmend.placeholders import CONTINUED
from chatmend.rules.rule import Keyed, Rule
from chatmend.transcript import Media, Message, Opaque, Part, Role, Text, Thinking, ToolResult, is_unchanged, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_SAID = ("tool_use", "tool_result")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Parts without a type, or with one that is not known."""
    if context.limits.roles is None:
        return
    moved: list[Part] = []
    for at, message in enumerate(window.messages):
        if at == window.run and moved:
            yield _shown(window, moved)
            moved = []
        if message.is_entry:
            continue
        listed = message.is_object and any(
            isinstance(message.extra.get(key), list) for key in context.traits.content_keys
        )
        known = _known(message, context)
        parts = tuple(_readable(part, known, context, listed=listed) for part in message.parts)
        changed = [(old, new) for old, new in zip(message.parts, parts, strict=True) if old is not new]
        strange: list[Part] = []
        if at < window.run and (strange := [part for part in parts if _is_misplaced(part, known, context)]):
            parts = tuple(part for part in parts if not _is_misplaced(part, known, context)) or (Text(CONTINUED),)
        if not is_unchanged(message.parts, parts):
            kept = all(isinstance(old, Text) for old, _ in changed)
            effect = Effect.DEGRADES if not kept else Effect.ADDS if _is_new(parts) else Effect.RESHAPES
            moved += strange if effect <= context.policy.allow else []  # else they stay where they are
            yield Fix(at, at + 1, (replace(message, parts=parts),), "the target cannot read the part", effect)
    if moved:
        yield _shown(window, moved)


def _is_new(parts: tuple[Part, ...]) -> bool:
    return len(parts) == 1 and isinstance(parts[0], Text) and parts[0].is_ours and parts[0].text == CONTINUED


def _shown(window: Window, media: list[Part]) -> Fix:
    why = "the target takes no media from the assistant"
    return Fix(window.run, window.run, (Message(Role.USER, tuple(media)),), why)


def _known(message: Message, context: Context) -> frozenset[str] | None:
    """The types that may stand in a message; None: any."""
    if not context.traits.types_by_role:
        return context.limits.part_types
    return context.limits.said_types if message.is_assistant else context.limits.block_types


def _is_misplaced(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Whether the assistant's words hold media that only a user may send."""
    if not context.traits.types_by_role or not isinstance(part, Media) or known is None:
        return False
    kind = context.dialect.kind_of(part.extra)
    return isinstance(kind, str) and kind not in known and kind in (context.limits.block_types or ())


def _readable(part: Part, known: frozenset[str] | None, context: Context, *, listed: bool) -> Part:
    if isinstance(part, ToolResult):
        return _readable_result(part, known, context)
    if isinstance(part, Text):
        return _readable_text(part, known, context, listed=listed)
    return _told(part) if _is_unreadable(part, known, context) else part


def _readable_result(result: ToolResult, known: frozenset[str] | None, context: Context) -> ToolResult:
    if context.traits.names_results or result.is_hosted:
        return result
    held = result.extra
    inner = any(isinstance(held.get(key), list) for key in context.traits.content_keys)
    # wherever it stands, a result goes back to the user
    known = context.limits.block_types if context.traits.types_by_role else known
    content = tuple(
        _told(part) if known is not None and _is_said(part, context) else _readable(part, known, context, listed=inner)
        for part in result.content
    )
    return result if is_unchanged(result.content, content) else replace(result, content=content)


def _readable_text(text: Text, known: frozenset[str] | None, context: Context, *, listed: bool) -> Text:
    limits, native = context.limits, text.extra
    if text.bare is not None:
        return Text(text.text, {"type": "text", "text": ""}) if listed and not limits.bare_strings else text
    if not text.is_object:
        return text
    kind = context.dialect.kind_of(native)
    if kind is None and (known is None or "text" in known):
        stays = limits.typeless_parts and "type" not in native
        return text if stays else Text(text.text, {**native, "type": "text"})
    return text if isinstance(kind, str) and (known is None or kind in known) else Text(text.text)


def _is_unreadable(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Whether the target can read neither the part nor the file that it names."""
    limits, native = context.limits, part.extra
    kind = context.dialect.kind_of(native)
    if isinstance(part, Media) and kind in ("image_url", "image") and not is_held(native):
        return True
    if isinstance(part, Media) and _is_elsewhere(native, limits.file_references):
        return True
    if not isinstance(part, Media | Thinking):
        return isinstance(part, Opaque) and not _may_stay(part, known, context)
    kind = kind if kind is None or isinstance(kind, str) else jsontext.identity(kind)
    fits = place_of(part) == "own" or not part.is_object or known is None or kind in known
    fits = fits or (part.is_object and kind is None and "type" not in native and limits.typeless_parts)
    return not fits and not _is_misplaced(part, known, context)


def _is_said(part: Part, context: Context) -> bool:
    """Whether a part of a result is one that only the model, or a message, may hold."""
    return isinstance(part, Thinking) or (isinstance(part, Opaque) and context.dialect.kind_of(part.extra) in _SAID)


def _is_elsewhere(native: object, held: str | None) -> bool:
    """Whether a part refers to a file that the target cannot look up."""
    name = file_id(native) if held is not None else None
    return held is not None and name is not None and re.search(held, name) is None


def _may_stay(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Whether something that we cannot read may be one that the target can."""
    native = part.extra
    kind = context.dialect.kind_of(native)
    if native and kind is None and "type" not in native:
        return context.limits.typeless_parts
    return isinstance(kind, str) and bool(kind) and kind not in TEXTS and (known is None or kind in known)


def _told(part: Part) -> Part:
    says = any(key != "type" for key in part.extra) if part.is_object else not part.is_nothing
    return Text(part.as_json if says else "", {"type": "text", "text": ""})


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if limits.file_references is None else lambda part: _is_elsewhere(part, limits.file_references)


RULE = Rule("PART001", "unknown-part", find, {"parts": Keyed(frozenset({"file"}), _judge)})
