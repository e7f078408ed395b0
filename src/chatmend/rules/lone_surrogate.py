r"""A lone surrogate (half of a UTF-16 pair) anywhere in a message.

Why: The request cannot be encoded, or it is refused: ``The request body is not valid JSON: no low
surrogate in string`` (Anthropic). Truncation by UTF-16 length cuts emoji in two.

Repair: U+FFFD replaces each lone surrogate in texts, results, names, unknown keys and arguments; in
arguments also where it is written as an escape such as ``\ud83d``. Two adjacent surrogates that
form a pair become their character.

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
    """Yield fixes for messages that cannot be encoded as UTF-8."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        becomes = message
        if not message.is_encodable:
            becomes = context.dialect.read(message.encodable_native)
        becomes = _with_encodable_arguments(becomes)
        if becomes is not message:
            yield Fix(
                at,
                at + 1,
                (becomes,),
                "a lone surrogate cannot be encoded as UTF-8",
                Effect.DEGRADES,
            )


def _with_encodable_arguments(message: Message) -> Message:
    parts = tuple(
        replace(part, arguments=jsontext.replace_surrogates_in_json(part.arguments))
        if isinstance(part, ToolCall)
        and isinstance(part.arguments, str)
        and not jsontext.is_encodable_json(part.arguments)
        else part
        for part in message.parts
    )
    return message.with_parts(parts) if not is_unchanged(parts, message.parts) else message


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if limits.roles is None else _has_lone_surrogate


def _has_lone_surrogate(arguments: object) -> bool:
    return isinstance(arguments, str) and not jsontext.is_encodable_json(arguments)


RULE = Rule("TEXT001", "lone-surrogate", find, {"arguments": _judge})
