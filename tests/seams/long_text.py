"""A text that is longer than the target takes.

Why: ``text: at most 40 characters`` (Acme). It gives the limit in ``[rules]`` of its table.

Repair: the text is cut.

Before (acme/acme-large):
    [{"role": "user", "content": "0123456789012345678901234567890123456789 and more"}]
After:
    [{"role": "user", "content": "0123456789012345678901234567890123456789"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.rules.rule import Rule
from chatmend.transcript import Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with a text that is too long."""
    if (most := context.limits.of("max_text_length")) is None:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(_cut(part, most) for part in message.parts)
        if parts != message.parts:
            yield Fix(
                at, at + 1, (replace(message, parts=parts),), "a text is too long", Effect.DEGRADES
            )


def _cut(part: Part, most: int) -> Part:
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(_cut(inner, most) for inner in part.content))
    return (
        replace(part, text=part.text[:most])
        if isinstance(part, Text) and len(part.text) > most
        else part
    )


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    most = limits.of("max_text_length")
    return None if most is None else lambda text: len(text) > most


RULE = Rule("TEXT900", "long-text", find, {"texts": _judge}, own_limits={"max_text_length": int})
