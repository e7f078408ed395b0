r"""Half of a character: a UTF-16 surrogate without its other half, anywhere in a message.

Why: the request cannot be encoded at all, or is refused: ``The request body is not valid JSON: no low surrogate in
string`` (Anthropic). Truncation by UTF-16 length cuts emoji in two.

Repair: U+FFFD in its place, in text, results, names, parsed arguments (their ``\ud83d`` escapes too), unknown keys. Two
halves that stand together become their character.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go \ud83d"}]
After:
    [{"role": "user", "content": "go \ufffd"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.rules.rule import Rule
from chatmend.transcript import Message, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages that UTF-8 cannot say."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        becomes = message
        if not message.is_sound:
            becomes = context.dialect.read(message.mended)
        becomes = _with_sound_arguments(becomes)
        if becomes is not message:
            yield Fix(at, at + 1, (becomes,), "half of a character cannot be encoded", Effect.DEGRADES)


def _with_sound_arguments(message: Message) -> Message:
    parts = tuple(
        replace(part, arguments=jsontext.mend_json(part.arguments))
        if isinstance(part, ToolCall) and isinstance(part.arguments, str) and not jsontext.is_sound_json(part.arguments)
        else part
        for part in message.parts
    )
    return replace(message, parts=parts) if not is_unchanged(parts, message.parts) else message


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if limits.roles is None else _is_unsound


def _is_unsound(arguments: object) -> bool:
    return isinstance(arguments, str) and not jsontext.is_sound_json(arguments)


RULE = Rule("TEXT001", "lone-surrogate", find, {"arguments": _judge})
