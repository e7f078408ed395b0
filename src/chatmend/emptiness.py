"""Which messages and parts count as empty or are not sent, and messages without empty parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.dialects import blocks
from chatmend.placeholders import CONTINUED
from chatmend.signatures import signature_of
from chatmend.transcript import (
    Role,
    Text,
    Thinking,
    ToolResult,
    is_blank,
    is_blank_part,
    is_unchanged,
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmend.context import Context
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message, Part


EFFORT_ONLY = "effort_only_messages"
"""The limit: the provider accepts system messages that only set the effort, at any position."""


def is_empty(message: Message, context: Context) -> bool:
    """Return whether the target refuses a message because it has no content."""
    limits = context.limits
    needs_content = not (declares_tools(message, limits) or sets_only_effort(message, limits))
    if message.calls or message.role not in limits.empty_roles or not needs_content:
        return False
    if is_item(message, context) and not message.results:
        return False
    if limits.bare_is_empty:
        return not message.parts
    content = tuple(
        part
        for part in message.parts
        if location_of(part) == "content" and not is_empty_thinking(part)
    )
    if any(_is_signed_text(part, limits) for part in content):
        return False
    if message.role is Role.TOOL:
        return all(
            is_blank(result.content, whitespace=limits.blank_is_empty) for result in message.results
        )
    return is_blank(content, whitespace=limits.blank_is_empty)


def is_item(message: Message, context: Context) -> bool:
    """Return whether a message is an item of the Responses API with fields instead of a content."""
    return context.traits.messages_are_items and message.kind not in (None, "message")


def declares_tools(message: Message, limits: Limits) -> bool:
    """Return whether a system message declares tools instead of having a content (Kimi K3)."""
    return limits.tools_in_system and message.is_system and bool(message.extra.get("tools"))


def sets_only_effort(message: Message, limits: Limits) -> bool:
    """Return whether a system message without content sets the effort of later answers."""
    native = message.extra
    return (
        message.is_system
        and limits.of(EFFORT_ONLY) is True
        and native.get("content") == []
        and bool(native.get("output_config"))
    )


def is_empty_thinking(part: Part) -> bool:
    """Return whether a part is a thinking block without a text and a signature."""
    if not isinstance(part, Thinking) or part.location != "content":
        return False
    return not (part.text.strip() or part.signature or part.redacted)


def without_empty_parts(message: Message, context: Context) -> Message:
    """Return a message without the empty texts that the target refuses next to other parts."""
    limits = context.limits
    native = message.extra
    if limits.empty_parts:
        return message
    may_be_blank = limits.blank_in_answers and message.is_assistant and len(message.parts) > 1
    blank_counts = limits.blank_is_empty and not may_be_blank
    parts = (
        remove_empty(message.parts, limits, whitespace=blank_counts)
        if _has_list_content(native) or message.calls
        else message.parts
    )
    parts = tuple(
        _without_empty_result_parts(part, whitespace=limits.blank_is_empty) for part in parts
    )
    if is_unchanged(parts, message.parts):
        return message
    first = parts[0] if parts else None
    was_emptied = (
        message.role is Role.TOOL
        and isinstance(first, ToolResult)
        and not first.has_same_native(message)
    )
    if was_emptied and isinstance(first, ToolResult):
        return replace(message, parts=parts, native=first.extra if first.is_object else None)
    return message.with_parts(parts)


def _is_signed_text(part: Part, limits: Limits) -> bool:
    """Return whether a text has a signature that the target checks.

    Gemini may send the signature of an answer in an empty text.
    """
    if not isinstance(part, Text) or limits.thought_signatures == "any":
        return False
    return bool(signature_of(part) or blocks.signature_of(part.extra))


def _has_list_content(native: dict[str, object]) -> bool:
    return isinstance(native.get("content"), list)


def _without_empty_result_parts(part: Part, *, whitespace: bool) -> Part:
    if not isinstance(part, ToolResult) or not part.is_object or not _has_list_content(part.extra):
        return part
    content = remove_empty(part.content, whitespace=whitespace)
    if content and len(content) == len(part.content):
        return part
    if content:
        return replace(part, content=content)
    return replace(
        part, content=(Text(""),), native={k: v for k, v in part.extra.items() if k != "content"}
    )


def remove_empty(
    parts: tuple[Part, ...], limits: Limits | None = None, *, whitespace: bool
) -> tuple[Part, ...]:
    """Return the parts without empty texts and compactions, or also without white space.

    The cache marker of a removed text moves to the text before it. ``limits``: those of a target
    whose signed texts stay, if the parts may be signed.
    """
    kept: list[Part] = []
    for part in parts:
        is_signed = limits is not None and _is_signed_text(part, limits)
        if is_signed or not is_blank_part(part, whitespace=whitespace):
            kept.append(part)
        elif "cache_control" in part.extra and kept:
            kept[-1] = _with_cache_marker(kept[-1], part.extra["cache_control"])
    return tuple(kept)


def _with_cache_marker(part: Part, marker: object) -> Part:
    has_none = isinstance(part, Text) and part.is_object and not part.extra.get("cache_control")
    if has_none and isinstance(marker, dict):
        return replace(part, native={**part.extra, "cache_control": marker})
    return part


def is_dropped(part: Part, context: Context) -> bool:
    """Return whether a part is a text of white space that does not reach the model."""
    return context.traits.drops_blank_texts and is_blank_part(part, whitespace=True)


def separate_thinking(
    parts: Iterable[Part], context: Context, *, after_thinking: bool = False
) -> tuple[tuple[Part, ...], bool]:
    """Return the parts with a text between adjacent thinking, and whether they end with thinking.

    ``after_thinking``: whether the parts before them end with thinking.
    """
    out: list[Part] = []
    for part in parts:
        if location_of(part) != "content" or is_dropped(part, context):
            out.append(part)
            continue
        is_thinking = isinstance(part, Thinking) and not part.redacted
        if is_thinking and after_thinking:
            out.append(Text(CONTINUED))
        out.append(part)
        after_thinking = is_thinking
    return tuple(out), after_thinking
