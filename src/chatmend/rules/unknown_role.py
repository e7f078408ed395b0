"""A role that is missing or that the target does not know.

Why: ``Invalid value: 'bogus'. Supported values are: 'system', 'assistant', 'user', 'function',
'tool', and 'developer'.`` (OpenAI), ``Unexpected role "tool". Allowed roles are "user" or
"assistant"`` (Anthropic), ``Role 'function' is not supported. Please use a valid role: SYSTEM, …``
(Gemini 3.5 and later).

Repair: Other names of a role (``model``, ``bot``, ``ai``, ``human``; ``developer`` if only
``system`` is known) are replaced by the target's name. A message with any other unknown role
becomes a user message whose text starts with this role. Results that Gemini got in a message of the
role ``function`` are sent in a user message where this role is refused.

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
from chatmend.transcript import Message, Role, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


_OPTIONAL = "role_optional"
"""Whether a message without a role is the user's."""
_FUNCTION = "function_role"
"""Whether results may have the role ``function`` in a format in which results are parts."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for roles that the target does not know."""
    roles = context.limits.roles
    if roles is None:
        return
    for at, message in enumerate(window.messages):
        spelling = message.native_role
        if _is_left_to_the_target(message, context):
            continue
        if _is_refused_function(message, context):
            becomes = replace(message, omitted_keys=message.omitted_keys | {"role"})
            yield Fix(
                at, at + 1, (becomes,), "the target does not accept the role of these results"
            )
            continue
        if (
            spelling == message.role
            and message.role in roles
            and not (message.role is Role.TOOL and context.traits.results_are_parts)
        ):
            continue
        if (
            spelling == "function"
            and message.role is Role.TOOL
            and not context.traits.results_are_parts
        ):
            native = message.extra
            if (
                isinstance(name := native.get("name"), str) and name
            ) or not context.limits.legacy_functions:
                continue
            spelling = None
        role = message.role if message.role in roles or not message.is_system else Role.SYSTEM
        if role is Role.TOOL and context.traits.results_are_parts:
            role = Role.USER
        elif role is Role.TOOL and "tool" not in roles:
            continue
        has_label = isinstance(spelling, str) and spelling.strip() and spelling not in ALIASES
        parts = (
            (Text(f"{spelling}:"), *message.parts)
            if has_label and role is Role.USER
            else message.parts
        )
        becomes = replace(
            message, role=role, native_role=role, parts=_join_label(parts) if has_label else parts
        )
        if becomes.role != message.role or spelling != role:
            yield Fix(at, at + 1, (becomes,), "the target does not know the role")


def _is_left_to_the_target(message: Message, context: Context) -> bool:
    """Return whether a user message has no role, and the target adds it."""
    is_missing = message.extra.get("role") is None and message.role is Role.USER
    return is_missing and bool(context.limits.of(_OPTIONAL))


def _is_refused_function(message: Message, context: Context) -> bool:
    """Return whether a user message of results has the role ``function``, which is refused."""
    is_read = context.traits.results_are_parts and message.role is Role.USER
    is_function = is_read and message.extra.get("role") == "function"
    return is_function and context.limits.of(_FUNCTION) is False


def _join_label(parts: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]
    """Join the label and the first text, so that content that is a string stays a string."""
    label, *rest = parts or (Text(""),)
    if rest and isinstance(label, Text) and isinstance(rest[0], Text) and not rest[0].is_object:
        return (Text(f"{label.text} {rest[0].text}"), *rest[1:])
    return tuple(parts)


RULE = Rule(
    "ROLE001", "unknown-role", find, STRUCTURE, own_limits={_OPTIONAL: bool, _FUNCTION: bool}
)
