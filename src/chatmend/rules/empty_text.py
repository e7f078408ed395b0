"""Text that says nothing: an empty or blank part, or a whole message of it.

Why: ``messages: text content blocks must be non-empty`` and ``... must contain non-whitespace text`` (Anthropic);
``message must not be empty in a turn`` (Cohere).

Repair: an empty part goes, its cache marker moves to the part before. A message left with nothing goes too, unless it is
the only one of its kind in its window: then ``[continued]`` keeps the turn. A blank text between other parts of an
assistant message stays, because providers write those themselves.

Before (anthropic/claude-sonnet-4-5):
    [{"role": "user", "content": [{"type": "text", "text": "  "}, {"type": "text", "text": "hi"}]}]
After:
    [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]

Before (bedrock/us.amazon.nova-pro-v1:0):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": ""},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "[continued]"},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.notes import says_beside
from chatmend.placeholders import CONTINUED
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Role, Text, Thinking, ToolResult, is_blank, is_unchanged, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


_CONTENT = ("content", "parts")


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Empty parts, then empty messages."""
    limits = context.limits
    if limits.empty_parts and not limits.empty_roles:
        return
    left = [_voiced(_stripped(message, context), context) for message in window.messages]
    speaks = [not _is_empty(message, context) for message in left]
    run = window.run
    everyone = range(run, len(left))
    others = [at for at in everyone if not left[at].is_system]
    kept = [_kept_by(kin, speaks) for kin in (range(run), everyone, others)]
    for at, message in enumerate(left):
        old = window.messages[at]
        if speaks[at]:
            if message is not old:
                yield Fix(at, at + 1, (message,), "an empty text says nothing")
            continue
        # who could take its place; behind the assistant's turn a system message cannot stand for a user's
        kin = 0 if at < run else 1 if message.is_system else 2
        if message.results or at == kept[kin]:
            yield Fix(at, at + 1, (_filled(message),), "an empty message is refused", Effect.ADDS)
        else:
            thought = any(isinstance(part, Thinking) and part.text for part in message.parts)
            effect = Effect.DROPS if thought or says_beside(message, context) else Effect.RESHAPES
            yield Fix(at, at + 1, (), "an empty message says nothing", effect)


def _voiced(message: Message, context: Context) -> Message:
    """A message of the model's that says nothing but why it refuses, with that as its content."""
    native = message.extra
    said = native.get("refusal") if message.is_assistant else None
    if not isinstance(said, str) or not said.strip() or not _is_empty(message, context):
        return message
    return replace(message, parts=(Text(said), *message.parts), without=message.without | {"refusal"})


def _kept_by(kin: Sequence[int], speaks: list[bool]) -> int | None:
    """The last of some messages where none of them speaks: it stays, and keeps the turn."""
    return kin[-1] if kin and not any(speaks[at] for at in kin) else None


def _filled(message: Message) -> Message:
    if message.results:
        parts = tuple(replace(p, content=(Text(CONTINUED),)) if isinstance(p, ToolResult) else p for p in message.parts)
        return replace(message, parts=parts)
    role = Role.USER if message.is_system else message.role
    rest = tuple(part for part in message.parts if not isinstance(part, Text))
    native = {k: v for k, v in message.extra.items() if k not in _CONTENT} if message.is_object else None
    return replace(message, role=role, spelling=role, parts=(Text(CONTINUED), *rest), native=native)


def _is_empty(message: Message, context: Context) -> bool:
    limits = context.limits
    if message.calls or message.role not in limits.empty_roles:
        return False
    if limits.bare_is_empty:
        return not message.parts
    spoken = tuple(part for part in message.parts if place_of(part) == "content")
    if message.role is Role.TOOL:
        return all(is_blank(result.content, whitespace=limits.blank_is_empty) for result in message.results)
    return is_blank(spoken, whitespace=limits.blank_is_empty)


def _stripped(message: Message, context: Context) -> Message:
    limits = context.limits
    native = message.extra
    if limits.empty_parts:
        return message
    blank_counts = limits.blank_is_empty and (not message.is_assistant or len(message.parts) == 1)
    parts = (
        _without_empty(message.parts, whitespace=blank_counts) if _listed(native) or message.calls else message.parts
    )
    parts = tuple(_stripped_result(part, whitespace=limits.blank_is_empty) for part in parts)
    if is_unchanged(parts, message.parts):
        return message
    first = parts[0] if parts else None
    emptied = message.role is Role.TOOL and isinstance(first, ToolResult) and not first.is_from(message)
    if emptied and isinstance(first, ToolResult):
        return replace(message, parts=parts, native=first.extra if first.is_object else None)
    return replace(message, parts=parts)


def _listed(native: dict[str, object]) -> bool:
    return isinstance(native.get("content"), list)


def _stripped_result(part: Part, *, whitespace: bool) -> Part:
    if not isinstance(part, ToolResult) or not part.is_object or not _listed(part.extra):
        return part
    content = _without_empty(part.content, whitespace=whitespace)
    if content and len(content) == len(part.content):
        return part
    if content:
        return replace(part, content=content)
    return replace(part, content=(Text(""),), native={k: v for k, v in part.extra.items() if k != "content"})


def _without_empty(parts: tuple[Part, ...], *, whitespace: bool) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in parts:
        if not isinstance(part, Text) or (part.text.strip() if whitespace else part.text):
            kept.append(part)
        elif "cache_control" in part.extra and kept:
            kept[-1] = _marked(kept[-1], part.extra["cache_control"])
    return tuple(kept)


def _marked(part: Part, marker: object) -> Part:
    if isinstance(part, Text) and part.is_object:
        return replace(part, native={**part.extra, "cache_control": marker})
    return part


RULE = Rule("TEXT004", "empty-text", find, STRUCTURE)
