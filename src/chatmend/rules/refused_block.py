"""A content block that the provider has refused in an earlier request of the conversation.

Only its answer shows the fault: a signature that cannot be verified, thinking that is bound to
another conversation, an image or a document that cannot be decoded.

Why: ``messages.1.content.0: Invalid `signature` in `thinking` block`` (Anthropic); ``The encrypted
content for item rs_1 could not be verified`` (OpenAI); ``messages.0.content.1.image.source.base64:
Could not process image`` (Anthropic).

Repair: Thinking and items of reasoning are removed, and so are thought signatures of Gemini; a call
gets the value that skips their check. Images, files, compactions and other blocks become a text
that says so. The rule does nothing without a lesson of ``chatmend.react`` that names the block, or
a ``SessionMemory`` that shows that the prompt before bound thinking has changed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.lessons import digest_of
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.signatures import signature_of, without_genuine_signature
from chatmend.transcript import Media, Message, Part, Role, Text, Thinking, ToolResult, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.sketch import WindowSketch
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

WHY = "the provider refused this block in an earlier request"
WHY_OUTDATED = "the prompt before this thinking has changed, so the provider would refuse it"
REMOVED = "Content removed: the provider refused it."
_COMPACTION, _DETAILS = "compaction", "reasoning_details"
_WHOLE_ITEMS = ("reasoning", "item_reference", _COMPACTION)


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that remove the blocks which lessons or a session memory name."""
    limits = context.limits
    if not limits.refused_blocks | limits.outdated_blocks:
        return
    for at, message in enumerate(window.messages):
        removed = limits.refused_blocks | _outdated(message, memory, limits)
        if message.is_object and message.kind in _WHOLE_ITEMS:
            if digest_of(message.list_item) in removed:
                note = Message(Role.USER, (Text(REMOVED),))
                becomes = (note,) if message.kind == _COMPACTION else ()
                yield Fix(at, at + 1, becomes, WHY, Effect.DROPS)
            continue
        reduced = _without_details(message, removed)
        parts = _without(message.parts, removed)
        if reduced is not message or not is_unchanged(message.parts, parts):
            lost_media = any(_holds_other(part, removed) for part in message.parts)
            effect = Effect.DEGRADES if lost_media else Effect.DROPS
            refused = _without(message.parts, limits.refused_blocks)
            is_outdated = reduced is message and is_unchanged(message.parts, refused)
            why = WHY_OUTDATED if is_outdated else WHY
            yield Fix(at, at + 1, (reduced.with_parts(parts),), why, effect)


def _without_details(message: Message, refused: frozenset[str]) -> Message:
    """Return the message without refused entries of OpenRouter's reasoning details."""
    held = message.extra.get(_DETAILS)
    if not isinstance(held, list):
        return message
    kept = [one for one in held if not isinstance(one, dict) or digest_of(one) not in refused]
    if len(kept) == len(held):
        return message
    rest = {key: value for key, value in message.extra.items() if key != _DETAILS}
    return replace(message, native={**rest, _DETAILS: kept} if kept else rest)


def _outdated(message: Message, memory: Memory, limits: Limits) -> frozenset[str]:
    """Return the digests of the outdated thinking in a message."""
    if not limits.outdated_blocks:
        return frozenset()
    first = _first_outdated(limits.outdated_blocks)
    found = {digest_of(part.extra) for part in message.parts if isinstance(part, Thinking)}
    for block in found & first.keys():
        key = f"thinking {block}"
        memory.id_counts[key] = memory.id_counts.get(key, 0) + 1
    return frozenset(
        block
        for block in found & first.keys()
        if memory.id_counts[f"thinking {block}"] >= first[block]
    )


@lru_cache(maxsize=64)
def _first_outdated(names: frozenset[str]) -> dict[str, int]:
    """Return for each block from which message on that has it the block is outdated."""
    first = dict[str, int]()
    for name in names:
        block, _, count = name.partition("#")
        number = int(count or 1)
        first[block] = min(number, first.get(block, number))
    return first


def _without(parts: tuple[Part, ...], refused: frozenset[str]) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, ToolResult):
            content = _without(part.content, refused)
            same = is_unchanged(part.content, content)
            kept.append(part if same else replace(part, content=content))
        elif (signature := signature_of(part)) and digest_of(signature) in refused:
            unsigned = without_genuine_signature(part)
            kept += () if unsigned is None else (unsigned,)
        elif not part.is_object or digest_of(part.extra) not in refused:
            kept.append(part)
        elif not isinstance(part, Thinking):
            kept.append(Text(REMOVED, {"type": "text", "text": ""}))
    return tuple(kept)


def _holds_other(part: Part, refused: frozenset[str]) -> bool:
    """Return whether a refused part is something other than thinking, which leaves a text."""
    if isinstance(part, ToolResult):
        return any(_holds_other(inner, refused) for inner in part.content)
    return isinstance(part, Media) and digest_of(part.extra) in refused


def _watch(limits: Limits, traits: Traits) -> Callable[[WindowSketch], bool] | None:
    return (lambda _: True) if limits.refused_blocks or limits.outdated_blocks else None


RULE = Rule("BLOCK001", "refused-block", find, STRUCTURE, watches=_watch)
