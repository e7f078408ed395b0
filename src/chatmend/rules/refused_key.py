"""A key that the target refuses: a name where none is taken, keys that came back with an answer, private keys.

Why: ``Unknown parameter: 'messages[1].reasoning'`` (OpenAI); ``property 'reasoning_content' is unsupported`` (Groq);
``Extra inputs are not permitted`` (Mistral, Anthropic).

Repair: the key is left out. The name of a user is said in front of the text, where it carries meaning. Keys that begin
with an underscore are private notes of the application, and are never sent to a target that is known.

Before (openai/gpt-4o):
    [{"role": "user", "name": "alice@x y", "content": "hi"}]
After:
    [{"role": "user", "content": "alice@x y: hi"}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Effect, Fix
from chatmend.jsontext import strings
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Message, Role, Text, place_of
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with keys to be left out."""
    limits = context.limits
    if limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if not isinstance(message.native, dict):
            continue
        keys = frozenset(k for k in message.native if _is_refused(k, context))
        named = "name" in message.native and not _name_is_taken(message, context)
        if not keys and not named:
            continue
        parts = message.parts
        said = any(True for key in keys for _ in strings(message.native[key]) if str(key)[:1] != "_")
        if named:
            keys |= {"name"}
            parts = _introduced(message)
        thinking = frozenset(k for k in keys if k in ("reasoning_content", "thinking_blocks"))
        parts = tuple(part for part in parts if place_of(part) not in thinking)
        if message.role is Role.TOOL and named and len(message.results) == 1:
            parts = (replace(message.results[0], name=None),)
        effect = Effect.DROPS if said else Effect.RESHAPES
        listed = ", ".join(sorted({k if k in limits.refused_keys or k == "name" else "an unknown key" for k in keys}))
        yield Fix(at, at + 1, (replace(message, parts=parts, without=keys),), f"the target refuses: {listed}", effect)


def _is_refused(key: object, context: Context) -> bool:
    limits = context.limits
    if not isinstance(key, str) or key[:1] == "_" or key in limits.refused_keys:
        return True
    return limits.known_keys is not None and key not in limits.known_keys and key not in context.dialect.OWN_KEYS


def _name_is_taken(message: Message, context: Context) -> bool:
    limits, name = context.limits, message.native["name"] if isinstance(message.native, dict) else None
    if context.top_level_system or (limits.message_name is not None and message.role not in limits.message_name):
        return False
    if not isinstance(name, str):
        return False
    if message.role is Role.TOOL and message.spelling != "function":
        return limits.tool_name_pattern is None or re.fullmatch(limits.tool_name_pattern, name) is not None
    return (
        limits.message_name_pattern is None
        or message.role is Role.TOOL
        or re.fullmatch(limits.message_name_pattern, name) is not None
    )


def _introduced(message: Message) -> tuple:  # type: ignore[type-arg]
    name = message.native.get("name") if isinstance(message.native, dict) else None
    if message.role is not Role.USER or not isinstance(name, str) or not name.strip():
        return message.parts
    if message.results:
        return message.parts
    for place, part in enumerate(message.parts):
        if isinstance(part, Text):
            said = replace(part, text=f"{name}: {part.text}")
            return (*message.parts[:place], said, *message.parts[place + 1 :])
    return (Text(f"{name}:"), *message.parts)


RULE = Rule("KEY001", "refused-key", Symptom.KEYS | Symptom.ROLE, find)
