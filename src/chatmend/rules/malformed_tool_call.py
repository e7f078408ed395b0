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
from chatmend.dialects.openai_chat import flat
from chatmend.placeholders import CALL_NOTE
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Part, Role, Text, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window

UNKNOWN = "unknown_tool"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Calls that are none, and empty lists of calls."""
    if context.limits.empty_tool_calls and not context.limits.call_id_required:
        return
    for at, message in enumerate(window.messages):
        becomes, whys, effect = message, list[str](), Effect.RESHAPES
        for step in (_without_old, without_list, _with_whole_calls):
            if (mended := step(becomes, context)) is not None:
                becomes, why, worse = mended
                whys.append(why)
                effect = max(effect, worse)
        if whys:
            yield Fix(at, at + 1, (becomes,), "; ".join(whys), effect)


_Mended = tuple[Message, str, Effect]


def _without_old(message: Message, context: Context) -> _Mended | None:
    """Without a ``function_call`` that is none, or stands where none may."""
    held = message.extra.get("function_call")
    if held is None or (message.role is not Role.TOOL and _is_function_call(held)):
        return None
    kept = replace(message, parts=tuple(part for part in message.parts if not _is_old(part)))
    parts = _with_note(kept, CALL_NOTE + jsontext.dumps(held))
    becomes = replace(kept, parts=parts, without=message.without | {"function_call"})
    return becomes, "function_call holds no call", Effect.DEGRADES


def without_list(message: Message, context: Context) -> _Mended | None:
    """A message without ``tool_calls`` in which there is no call, with why and the effect; None where it has none."""
    native = message.extra
    if "tool_calls" not in native or not all(call.legacy for call in message.calls):
        return None
    listed = native["tool_calls"]
    parts = _with_note(message, CALL_NOTE + jsontext.dumps(listed)) if listed else message.parts
    becomes = replace(message, parts=parts, without=message.without | {"tool_calls"})
    return becomes, "tool_calls holds no call", Effect.DEGRADES if listed else Effect.RESHAPES


def _with_whole_calls(message: Message, context: Context) -> _Mended | None:
    """With every call complete, or told."""
    if not message.calls:
        return None
    parts = tuple(_mended(part, message, context) for part in message.parts)
    if is_unchanged(message.parts, parts):
        return None
    told = any(isinstance(p, Text) and isinstance(old, ToolCall) for old, p in zip(message.parts, parts, strict=True))
    named = any(isinstance(part, ToolCall) and part.name == UNKNOWN for part in parts)
    effect = Effect.DEGRADES if told else Effect.ADDS if named else Effect.RESHAPES
    return replace(message, parts=parts), "an entry is no complete tool call", effect


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
    native = part.extra
    if not message.is_assistant or not part.is_object:
        return Text(CALL_NOTE + part.as_json)
    if context.traits.typed_calls and "custom" not in native and not isinstance(native.get("function"), dict):
        name, arguments = flat(native)
        return replace(part, name=name if isinstance(name, str) and name else UNKNOWN, arguments=arguments)
    if not isinstance(part.name, str) or not part.name:
        return replace(part, name=UNKNOWN if part.name in (None, "") else jsontext.dumps(part.name))
    kind = "custom" if "custom" in native else "function"
    if context.traits.typed_calls and native.get("type") != kind:
        return replace(part, native={**native, "type": kind, "id": None})
    return part


RULE = Rule("TOOL003", "malformed-tool-call", find, STRUCTURE)
