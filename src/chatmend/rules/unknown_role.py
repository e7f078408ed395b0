"""A role that the target does not know, or none at all.

Why: ``Invalid value: 'bogus'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and
'developer'.`` (OpenAI), ``Unexpected role "tool". Allowed roles are "user" or "assistant"`` (Anthropic).

Repair: other spellings of a role (``model``, ``bot``, ``ai``, ``human``; ``developer`` where only ``system`` is known)
get the target's word. A role with a meaning that nobody knows becomes a user message that starts with it.

Before (openai/gpt-4o):
    [{"role": "user", "content": "hi"},
     {"role": "model", "content": "Hello"},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "hi"},
     {"role": "assistant", "content": "Hello"},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.dialects.roles import ALIASES
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Role, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Roles to be written another way."""
    roles = context.limits.roles
    if roles is None:
        return
    for at, message in enumerate(window.messages):
        spelling = message.spelling
        if (
            spelling == message.role
            and message.role in roles
            and not (message.role is Role.TOOL and context.traits.results_inside)
        ):
            continue
        if spelling == "function" and message.role is Role.TOOL and not context.traits.results_inside:
            native = message.extra
            if (isinstance(name := native.get("name"), str) and name) or not context.limits.legacy_functions:
                continue
            spelling = None
        role = message.role if message.role in roles or not message.is_system else Role.SYSTEM
        if role is Role.TOOL and context.traits.results_inside:
            role = Role.USER
        elif role is Role.TOOL and "tool" not in roles:
            continue
        named = isinstance(spelling, str) and spelling.strip() and spelling not in ALIASES
        parts = (Text(f"{spelling}:"), *message.parts) if named and role is Role.USER else message.parts
        becomes = replace(message, role=role, spelling=role, parts=_joined(parts) if named else parts)
        if becomes.role != message.role or spelling != role:
            yield Fix(at, at + 1, (becomes,), "the target does not know the role")


def _joined(parts: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]
    """The label and the first text in one, so that a plain string stays one."""
    label, *rest = parts or (Text(""),)
    if rest and isinstance(label, Text) and isinstance(rest[0], Text) and not rest[0].is_object:
        return (Text(f"{label.text} {rest[0].text}"), *rest[1:])
    return tuple(parts)


RULE = Rule("ROLE001", "unknown-role", find, STRUCTURE)
