"""An entry of ``tool_calls`` that is no call: no object, no function, no type, no name; or a call said by a user.

Why: ``Invalid type for 'messages[1].tool_calls[0]'`` (OpenAI); ``tool_use blocks can only be in assistant messages``
(Anthropic).

Repair: a missing type or name is filled in (``unknown_tool``); what is no call at all, or stands where no call may be,
is told as text. An empty ``tool_calls`` list is left out.

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
from chatmend.placeholders import CALL_NOTE
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Message, Part, Role, Text, ToolCall, is_unchanged
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "unknown_tool"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls that are none, and empty lists of calls."""
    limits = context.limits
    if limits.empty_tool_calls and not limits.call_id_required:
        return
    for at, message in enumerate(window.messages):
        native = message.native if isinstance(message.native, dict) else {}
        listed = native.get("tool_calls")
        stray = message.role is Role.TOOL or not _is_function_call(native.get("function_call"))
        if native.get("function_call") is not None and stray:
            words = CALL_NOTE + jsontext.dumps(native["function_call"])
            kept = replace(message, parts=tuple(part for part in message.parts if not _is_old(part)))
            becomes = replace(kept, parts=_with_note(kept, words), without=frozenset({"function_call"}))
            yield Fix(at, at + 1, (becomes,), "function_call holds no call", Effect.DEGRADES)
        elif "tool_calls" in native and all(call.legacy for call in message.calls):
            parts = _with_note(message, CALL_NOTE + jsontext.dumps(listed)) if listed else message.parts
            becomes = replace(message, parts=parts, without=frozenset({"tool_calls"}))
            yield Fix(
                at, at + 1, (becomes,), "tool_calls holds no call", Effect.DEGRADES if listed else Effect.RESHAPES
            )
        elif message.calls:
            parts = tuple(_mended(part, message, context) for part in message.parts)
            if not is_unchanged(message.parts, parts):
                told = any(
                    isinstance(new, Text) and isinstance(old, ToolCall)
                    for old, new in zip(message.parts, parts, strict=True)
                )
                named = any(call.name == UNKNOWN for call in replace(message, parts=parts).calls)
                effect = Effect.DEGRADES if told else Effect.ADDS if named else Effect.RESHAPES
                yield Fix(at, at + 1, (replace(message, parts=parts),), "an entry is no complete tool call", effect)


def _is_function_call(value: object) -> bool:
    """Whether a value is a call of the old form; its arguments are for another rule."""
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _is_old(part: Part) -> bool:
    return isinstance(part, ToolCall) and part.legacy


def _with_note(message: Message, words: str) -> tuple[Part, ...]:
    """The parts with words behind the last text: inside the result, where the message is one."""
    if message.role is Role.TOOL and len(message.results) == 1:
        result = message.results[0]
        return (replace(result, content=(*result.content, Text(words))),)
    return (*message.parts, Text(words))


def _mended(part: Part, message: Message, context: Context) -> Part:
    if not isinstance(part, ToolCall) or (message.is_assistant and (part.legacy or part.is_hosted)):
        return part
    native = part.native
    if not message.is_assistant or not isinstance(native, dict):
        return Text(CALL_NOTE + jsontext.dumps(native))
    if context.traits.typed_calls and "custom" not in native and not isinstance(native.get("function"), dict):
        name, arguments = native.get("name"), native.get("arguments", native.get("input"))
        return replace(part, name=name if isinstance(name, str) and name else UNKNOWN, arguments=arguments)
    if not isinstance(part.name, str) or not part.name:
        return replace(part, name=UNKNOWN if part.name in (None, "") else jsontext.dumps(part.name))
    kind = "custom" if "custom" in native else "function"
    if context.traits.typed_calls and native.get("type") != kind:
        return replace(part, native={**native, "type": kind, "id": None})
    return part


RULE = Rule("TOOL003", "malformed-tool-call", Symptom.CALLS | Symptom.KEYS | Symptom.ROLE, find)
