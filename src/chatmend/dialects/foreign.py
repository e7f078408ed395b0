"""Messages of another dialect among those of this one: frameworks that convert histories leave some as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from chatmend import jsontext
from chatmend.dialects import anthropic_messages, openai_chat
from chatmend.jsontext import is_same
from chatmend.placeholders import CALL_NOTE, note
from chatmend.transcript import Message, Part, Role, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.transcript import Native

_Exchanged = TypeVar("_Exchanged", ToolCall, ToolResult)


def is_chat(native: dict[str, object]) -> bool:
    """Whether a message has what only Chat Completions have: calls or an answered call under keys of their own."""
    return native.get("role") in ("tool", "function") or any(
        key in native for key in ("tool_calls", "tool_call_id", "function_call", "thinking_blocks", "reasoning_content")
    )


def has_blocks(native: dict[str, object]) -> bool:
    """Whether a message holds blocks that only Anthropic's Messages have."""
    return anthropic_messages.speaks(native)


def read(native: dict[str, object]) -> Message:
    """A message of one of these dialects; its spelling is never one of another dialect's own."""
    message = openai_chat.read(native) if is_chat(native) else anthropic_messages.read(native)
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking) or _is_read(part))
    return replace(message, spelling=None, parts=parts)


def is_same_message(one: Message, other: Message) -> bool:
    """Whether two messages are the same, however deep what they hold is nested."""
    if one.native is not other.native or one.without != other.without:
        return False
    if (one.role, one.spelling, len(one.parts)) != (other.role, other.spelling, len(other.parts)):
        return False
    return all(is_same(part, twin) for part, twin in zip(one.parts, other.parts, strict=True))


def same_or(
    message: Message, read: Callable[[Native], Message], written: Callable[[Message], dict[str, object]]
) -> Native:
    """What a message is written as: the native object that it was read from, where nothing in it changed."""
    native = message.native
    if isinstance(native, dict) and is_same_message(read(native), message):
        return native
    out = written(message)
    return native if isinstance(native, dict) and is_same(out, native) else out


def rest(message: Message) -> dict[str, object]:
    """The keys of a foreign message that its parts do not hold."""
    native = message.native if isinstance(message.native, dict) else {}
    held = {"role", "content", "type"}
    held |= {"name", "tool_call_id"} if message.role is Role.TOOL else set()
    held |= {"tool_calls"} if isinstance(native.get("tool_calls"), list) and message.calls else set()
    held |= {"function_call"} if any(call.legacy for call in message.calls) else set()
    if message.is_assistant:
        held |= {"thinking_blocks"} if isinstance(native.get("thinking_blocks"), list) else set()
        held |= {"reasoning_content"} if isinstance(native.get("reasoning_content"), str) else set()
    return {key: value for key, value in native.items() if key not in held}


def told(part: ToolCall | ToolResult) -> dict[str, object]:
    """A call or result where none may stand, as words."""
    words = CALL_NOTE + jsontext.dumps(part.native) if isinstance(part, ToolCall) else _note(part)
    return {"type": "input_text", "text": words}


def _note(result: ToolResult) -> str:
    first = note(result)[0]
    return first.text if isinstance(first, Text) else ""


def _is_read(thought: Thinking) -> bool:
    """Whether thinking is a text, or a block; anything else under a key of chat's stays a key."""
    return isinstance(thought.native, str if thought.place == "reasoning_content" else dict)


def items(message: Message) -> Iterator[Message]:
    """The parts of a message as entries of their own: calls and results each, everything between them together.

    Keys that we do not know go with the first entry. Results in a message of the model's stand behind what it called.
    """
    said: list[Part] = []
    keys = rest(message)
    for part in sorted(message.parts, key=lambda part: message.is_assistant and isinstance(part, ToolResult)):
        own = isinstance(part, ToolResult) or (isinstance(part, ToolCall) and message.is_assistant)
        if own and said:
            yield Message(_speaker(message.role), tuple(said), keys)
            said, keys = [], {}
        if isinstance(part, ToolCall) and own:
            yield Message(Role.ASSISTANT, (_entry(whole(part), "function_call", keys),))
        elif isinstance(part, ToolResult):
            yield Message(Role.TOOL, (_entry(replace(part, name=None), "function_call_output", keys),))
        else:
            said.append(_word(part))
            continue
        keys = {}
    if said or not message.parts:
        yield Message(_speaker(message.role), tuple(said), keys)


def whole(call: ToolCall) -> ToolCall:
    """A call with the name and the arguments that stand flat in its entry, where it has no ``function``."""
    native = call.native
    if call.name is not None or call.arguments is not None or not isinstance(native, dict) or "function" in native:
        return call
    name, arguments = openai_chat.flat(native)
    return replace(call, name=name, arguments=arguments)


def _entry(part: _Exchanged, kind: str, keys: dict[str, object]) -> _Exchanged:
    kind = {"function_call": "custom_tool_call"}.get(kind, kind) if part.kind == "custom" else kind
    return replace(part, native={"type": kind, **keys} if keys else None, legacy=False)


def _speaker(role: Role) -> Role:
    return Role.USER if role is Role.TOOL else role


def _word(part: Part) -> Part:
    if isinstance(part, ToolCall):
        return Text(CALL_NOTE + jsontext.dumps(part.native))
    if isinstance(part, Thinking) and part.place == "reasoning_content":
        return replace(part, place="content", native=None)
    return part
