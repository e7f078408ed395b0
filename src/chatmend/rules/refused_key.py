"""A key that the target refuses: a name where none is taken, keys that came back with an answer, private keys.

Why: ``Unknown parameter: 'messages[1].reasoning'`` (OpenAI); ``property 'reasoning_content' is unsupported`` (Groq);
``Extra inputs are not permitted`` (Mistral, Anthropic); ``Cannot pass both content and thinking in an assistant message
with tool calls!`` (the chat template of gpt-oss).

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
from chatmend.merging import introduced
from chatmend.rules.rule import Rule
from chatmend.transcript import Message, Part, Role, Text, ToolResult, is_unchanged, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages with keys to be left out."""
    limits = context.limits
    if limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if not message.is_object:
            continue
        keys = frozenset(k for k in message.extra if _is_refused(k, context))
        if message.calls and message.extra.get("content"):
            keys |= limits.refused_beside_content & {k for k, value in message.extra.items() if value}
        ends = window.last and message is window.messages[-1] and message.is_assistant
        if _begins_nothing(message, limits) and not ends:
            keys |= {limits.prefill_key or ""}
        named = "name" in message.extra and not _name_is_taken(message, context)
        parts = tuple(_bare(part, message, context) for part in message.parts)
        if not keys and not named and is_unchanged(message.parts, parts):
            continue
        said = any(True for key in keys for _ in strings(message.extra[key]) if str(key)[:1] != "_")
        said = said or any(map(_says_more, message.parts, parts))
        message = replace(message, parts=parts)  # noqa: PLW2901 - the same message, its parts without such keys
        if named:
            keys |= {"name"}
            parts = introduced(message).parts
        thinking = frozenset(k for k in keys if k in ("reasoning_content", "thinking_blocks"))
        parts = tuple(part for part in parts if place_of(part) not in thinking)
        if message.role is Role.TOOL and named and len(message.results) == 1:
            parts = (replace(message.results[0], name=None),)
        effect = Effect.DROPS if said else Effect.RESHAPES
        told = limits.refused_keys | limits.refused_beside_content | {"name", limits.prefill_key or "name"}
        listed = ", ".join(sorted({k if k in told else "an unknown key" for k in keys}))
        listed = listed or "a key of a part"
        yield Fix(at, at + 1, (replace(message, parts=parts, without=keys),), f"the target refuses: {listed}", effect)


def _begins_nothing(message: Message, limits: Limits) -> bool:
    """Whether a message asks to be continued, which only the last one may."""
    key = limits.prefill_key
    return key is not None and message.extra.get(key) is True


def _is_refused(key: object, context: Context) -> bool:
    limits = context.limits
    if not isinstance(key, str) or key[:1] == "_" or key in limits.refused_keys:
        return True
    return limits.known_keys is not None and key not in limits.known_keys and key not in context.traits.own_keys


def _bare(part: Part, message: Message, context: Context) -> Part:
    """The part without keys that the target refuses in parts."""
    known, refused, native = context.limits.part_keys, context.limits.refused_part_keys, part.extra
    if isinstance(part, ToolResult) and not part.is_hosted and refused:
        content = tuple(_bare(inner, message, context) for inner in part.content)
        part = part if is_unchanged(part.content, content) else replace(part, content=content)
    if (known is None and not refused) or not part.is_object or part.is_from(message):
        return part
    kept = {key: value for key, value in native.items() if key not in refused and (known is None or key in known)}
    for key in context.traits.flags & kept.keys() if known is not None else ():
        if kept[key] is not None and not isinstance(kept[key], bool):
            kept[key] = bool(kept[key])
    for key, inner in context.traits.held_keys if known is not None else ():
        if isinstance(held := kept.get(key), dict) and not inner.issuperset(held):
            kept[key] = {name: value for name, value in held.items() if name in inner}
    if is_unchanged(tuple(kept.values()), tuple(native.values())):
        return part
    return replace(part, native=kept) if kept else Text("")


def _says_more(old: Part, new: Part) -> bool:
    """Whether a part had words under a key that is gone."""
    if isinstance(old, ToolResult) and isinstance(new, ToolResult) and any(map(_says_more, old.content, new.content)):
        return True
    before, after = old.extra, new.extra
    if not old.is_object or not new.is_object:
        return False
    return any(True for key in before if after.get(key) is not before[key] for _ in strings(before[key]))


def _name_is_taken(message: Message, context: Context) -> bool:
    limits, name = context.limits, message.name
    if any(part.is_from(message) for part in message.parts if not isinstance(part, ToolResult)):
        return True
    of_result = message.role is Role.TOOL and message.spelling != "function"
    refused = limits.message_name is not None and message.role not in limits.message_name
    if context.traits.results_inside or (refused and not (of_result and context.traits.results_may_be_named)):
        return False
    if not isinstance(name, str):
        return False
    if of_result:
        return limits.tool_name_pattern is None or re.fullmatch(limits.tool_name_pattern, name) is not None
    return (
        limits.message_name_pattern is None
        or message.role is Role.TOOL
        or re.fullmatch(limits.message_name_pattern, name) is not None
    )


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    if limits.tool_name_pattern is None and limits.message_name_pattern is None:
        return None
    fits_tool = re.compile(limits.tool_name_pattern or "(?s:.*)").fullmatch
    fits = re.compile(limits.message_name_pattern or "(?s:.*)").fullmatch
    return lambda name: (fits_tool(name) is None) + 2 * (fits(name) is None)


RULE = Rule("KEY001", "refused-key", find, {"names": _judge})
