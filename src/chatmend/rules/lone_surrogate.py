r"""A lone surrogate (half of a UTF-16 pair) anywhere in a message or in the system prompt.

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
from chatmend.changes import Change, Effect, Fix
from chatmend.rules.rule import Request, RequestRule, Rule
from chatmend.transcript import Message, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


CODE, NAME = "TEXT001", "lone-surrogate"
_WHY = "a lone surrogate cannot be encoded as UTF-8"
_LIMIT = "lone_surrogates"
"""Whether the target accepts lone surrogates; without a value, only an unknown target does."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for messages that cannot be encoded as UTF-8."""
    if _is_accepted(context.limits):
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
                _WHY,
                Effect.DEGRADES,
            )


def apply(request: Request, context: Context) -> tuple[Request, list[Change]]:
    """Replace the lone surrogates in the system prompt next to the messages."""
    system = request.system
    becomes = jsontext.replace_surrogates_in_value(system)
    if becomes is system:
        return request, []
    change = Change(
        CODE, NAME, Effect.DEGRADES, None, _WHY, (system,), (becomes,), where="system"
    )  # fmt: skip
    return replace(request, system=becomes), [change]


def _is_idle(request: Request, context: Context) -> bool:
    return request.system is None or _is_accepted(context.limits)


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


def _is_accepted(limits: Limits) -> bool:
    accepted = limits.of(_LIMIT)
    return limits.roles is None if accepted is None else bool(accepted)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if _is_accepted(limits) else _has_lone_surrogate


def _has_lone_surrogate(arguments: object) -> bool:
    return isinstance(arguments, str) and not jsontext.is_encodable_json(arguments)


RULE = Rule(CODE, NAME, find, {"arguments": _judge}, own_limits={_LIMIT: bool})
SYSTEM = RequestRule(CODE, NAME, apply, is_idle=_is_idle)
