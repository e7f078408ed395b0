"""A malformed tool call, or a tool call in a message that is not the assistant's.

An entry of ``tool_calls`` is malformed if it is not an object, or if its function, type or name is
missing. The rule also finds an empty ``tool_calls`` list and a malformed ``function_call``.

Why: ``Invalid type for 'messages[1].tool_calls[0]'`` (OpenAI); ``tool_use blocks can only be in
assistant messages`` (Anthropic).

Repair: A missing type is filled in; a missing name becomes ``unknown_tool``. An entry that is not a
call, or a call that is not allowed in its message, is converted to text. An empty ``tool_calls``
list is removed.

Before (openai/gpt-4o):
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "x", "tool_calls": []},
     {"role": "user", "content": "on"}]
After:
    [{"role": "user", "content": "go"},
     {"role": "assistant", "content": "x"},
     {"role": "user", "content": "on"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects.openai_chat import flat_name_and_arguments
from chatmend.placeholders import CALL_NOTE
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Role, Text, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

UNKNOWN = "unknown_tool"
_BUILTIN_TYPES = "builtin_call_types"
"""The limit with the types of calls of the provider's own tools, which the caller sends back."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for malformed and misplaced calls, and for empty lists of calls."""
    limits = context.limits
    if limits.empty_tool_calls and not (limits.call_id_required or limits.optional_call_ids):
        return
    for at, message in enumerate(window.messages):
        becomes, whys, effect = message, list[str](), Effect.RESHAPES
        for step in (_remove_invalid_function_call, remove_tool_calls_key, _repair_calls):
            if (repaired := step(becomes, context)) is not None:
                becomes, why, step_effect = repaired
                whys.append(why)
                effect = max(effect, step_effect)
        if whys:
            yield Fix(at, at + 1, (becomes,), "; ".join(whys), effect)


_StepResult = tuple[Message, str, Effect]


def _remove_invalid_function_call(message: Message, context: Context) -> _StepResult | None:
    """Convert a ``function_call`` to text if it is malformed or in a tool message."""
    function_call = message.extra.get("function_call")
    if function_call is None or _is_other_item(message, context):
        return None
    if message.role is not Role.TOOL and _is_function_call(function_call):
        return None
    kept = message.with_parts(tuple(part for part in message.parts if not _is_legacy_call(part)))
    parts = _append_text(kept, CALL_NOTE + jsontext.dumps(function_call))
    becomes = replace(kept, parts=parts, omitted_keys=message.omitted_keys | {"function_call"})
    return (
        becomes,
        "the function_call is malformed or not allowed in this message",
        Effect.DEGRADES,
    )


def remove_tool_calls_key(message: Message, context: Context) -> _StepResult | None:
    """Remove ``tool_calls`` if it holds no call; a value that is not empty becomes text.

    Returns the message, the reason and the effect, or None if there is nothing to remove.
    """
    native = message.extra
    if "tool_calls" not in native or _is_other_item(message, context):
        return None
    value = native["tool_calls"]
    if any(call.is_listed_in(value) for call in message.calls):
        return None
    if context.limits.empty_tool_calls and (value is None or value == []):
        return None
    parts = _append_text(message, CALL_NOTE + jsontext.dumps(value)) if value else message.parts
    becomes = replace(message, parts=parts, omitted_keys=message.omitted_keys | {"tool_calls"})
    return becomes, "tool_calls contains no call", Effect.DEGRADES if value else Effect.RESHAPES


def _repair_calls(message: Message, context: Context) -> _StepResult | None:
    """Complete incomplete calls, and convert malformed and misplaced ones to text."""
    if not message.calls:
        return None
    parts = tuple(_repair_call(part, message, context) for part in message.parts)
    if is_unchanged(message.parts, parts):
        return None
    is_converted = any(
        isinstance(p, Text) and isinstance(old, ToolCall)
        for old, p in zip(message.parts, parts, strict=True)
    )
    has_new_name = any(isinstance(part, ToolCall) and part.name == UNKNOWN for part in parts)
    effect = Effect.DEGRADES if is_converted else Effect.ADDS if has_new_name else Effect.RESHAPES
    return (
        message.with_parts(parts),
        "a tool call is incomplete, malformed or not in an assistant message",
        effect,
    )


def _is_other_item(message: Message, context: Context) -> bool:
    """Return whether it is an item of another type than a message, in which no key holds calls."""
    return jsontext.is_one_of(message.kind, context.traits.item_types)


def _is_function_call(value: object) -> bool:
    """Return whether a value is a legacy call; another rule checks its arguments."""
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _is_legacy_call(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.legacy


def _append_text(message: Message, text: str) -> tuple[Part, ...]:
    """Return the parts with a text at the end; in a tool message, at the end of its result."""
    if message.role is Role.TOOL and len(message.results) == 1:
        result = message.results[0]
        return (replace(result, content=(*result.content, Text(text))),)
    return (*message.parts, Text(text))


def _repair_call(part: Part, message: Message, context: Context) -> Part:
    if not isinstance(part, ToolCall) or (message.is_assistant and (part.legacy or part.is_hosted)):
        return part
    native, function = part.extra, part.extra.get("function")
    has_no_function = (
        context.traits.has_calls_key and "custom" not in native and not isinstance(function, dict)
    )
    is_unreadable = has_no_function and function and not isinstance(function, str)
    if not message.is_assistant or not part.is_object or is_unreadable:
        return Text(CALL_NOTE + part.as_json)
    if has_no_function:
        name, arguments = flat_name_and_arguments(native)
        return replace(
            part, name=name if isinstance(name, str) and name else UNKNOWN, arguments=arguments
        )
    if not isinstance(part.name, str) or not part.name:
        return replace(part, name=UNKNOWN if part.name in (None, "") else jsontext.dumps(part.name))
    kind = "custom" if part.kind == "custom" else "function"
    builtin = context.limits.of(_BUILTIN_TYPES) or ()
    is_known = native.get("type") == kind or jsontext.is_one_of(native.get("type"), builtin)
    if context.traits.typed_calls and not is_known:
        return replace(part, native={**native, "type": kind, "id": None})
    return part


RULE = Rule(
    "TOOL003", "malformed-tool-call", find, STRUCTURE, own_limits={_BUILTIN_TYPES: list[str]}
)
