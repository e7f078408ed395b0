"""A call with an argument ``password``.

Why: Acme asks for it.

Repair: the value is left out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend.changes import Effect, Fix
from chatmend.rules.rule import Rule
from chatmend.transcript import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Part
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with a call that has one."""
    if context.limits.of("no_secrets") is None:
        return
    for at, message in enumerate(window.messages):
        parts = tuple(map(_without, message.parts))
        if parts != message.parts:
            yield Fix(
                at,
                at + 1,
                (replace(message, parts=parts),),
                "a call holds a password",
                Effect.DROPS,
            )


def _without(part: Part) -> Part:
    if not isinstance(part, ToolCall) or not _is_secret(part.arguments):
        return part
    told = json.loads(part.arguments) if isinstance(part.arguments, str) else part.arguments
    kept: Any = {key: value for key, value in told.items() if key != "password"}
    return replace(part, arguments=json.dumps(kept) if isinstance(part.arguments, str) else kept)


def _is_secret(arguments: object) -> bool:
    return '"password"' in arguments if isinstance(arguments, str) else "password" in arguments  # type: ignore[operator]


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return None if limits.of("no_secrets") is None else _is_secret


RULE = Rule(
    "TOOL900", "secret-argument", find, {"arguments": _judge}, own_limits={"no_secrets": bool}
)
