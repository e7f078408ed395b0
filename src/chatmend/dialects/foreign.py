"""Messages of another dialect within a history, which frameworks leave when they convert one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from chatmend import jsontext
from chatmend.dialects import anthropic_messages, openai_chat
from chatmend.dialects.thinking import is_thinking
from chatmend.jsonnumbers import has_lost_numbers, has_unsendable_number
from chatmend.jsontext import is_same
from chatmend.placeholders import CALL_NOTE, note
from chatmend.transcript import Message, Part, Role, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmend.transcript import Native

_THINKING_KEYS = frozenset({"thinking_blocks", "reasoning_content"})
_ITEM_FIELDS = frozenset({"arguments", "call_id", "input", "name", "output"})
"""Keys of calls and their outputs, which a key of a message must not overwrite."""
CallOrResult = TypeVar("CallOrResult", ToolCall, ToolResult)


def is_chat(native: dict[str, object]) -> bool:
    """Return whether a message has a role or key that only Chat Completions has.

    These are the roles of results and the keys of calls, call ids and thinking.
    """
    return native.get("role") in ("tool", "function") or any(
        key in native
        for key in (
            "tool_calls",
            "tool_call_id",
            "function_call",
            "thinking_blocks",
            "reasoning_content",
        )
    )


def has_chat_parts(message: Message) -> bool:
    """Return whether a message is a result, a call or thinking as only Chat Completions has them.

    A message is not converted because of a key of Chat Completions whose value is unreadable.
    """
    native = message.native if isinstance(message.native, dict) else {}
    if native.get("role") in ("tool", "function"):
        return True
    return is_chat(native) and any(
        isinstance(part, ToolCall | ToolResult | Thinking) for part in message.parts
    )


def has_blocks(native: dict[str, object]) -> bool:
    """Return whether a message holds blocks that only Anthropic's Messages API has."""
    return anthropic_messages.has_own_blocks(native)


def read(native: dict[str, object]) -> Message:
    """Read a message of one of these two dialects, and clear its native role."""
    message = openai_chat.read(native) if is_chat(native) else anthropic_messages.read(native)
    unreadable = _THINKING_KEYS - _readable_keys(native)
    parts = tuple(
        part
        for part in message.parts
        if not isinstance(part, Thinking) or part.location not in unreadable
    )
    return replace(message, native_role=None, parts=parts)


def is_same_message(one: Message, other: Message) -> bool:
    """Return whether two messages are equal; their content may be nested to any depth."""
    if one.native is not other.native or one.omitted_keys != other.omitted_keys:
        return False
    if (one.role, one.native_role, len(one.parts)) != (
        other.role,
        other.native_role,
        len(other.parts),
    ):
        return False
    return all(is_same(part, twin) for part, twin in zip(one.parts, other.parts, strict=True))


def write_if_changed(
    message: Message,
    read: Callable[[Native], Message],
    build_native: Callable[[Message], dict[str, object]],
) -> Native:
    """Write a message; return its native object if nothing changed."""
    native = message.native
    if not isinstance(native, dict):
        return build_native(message)
    # In a message, too, a Decimal is equal to its replacement.
    if not has_unsendable_number(native) and is_same_message(read(native), message):
        return native
    out = build_native(message)
    return native if is_same(out, native) and not has_lost_numbers(native, out) else out


def other_keys(message: Message) -> dict[str, object]:
    """Return the keys of a foreign message that were not read into its parts, with their values."""
    native = message.native if isinstance(message.native, dict) else {}
    held = {"role", "content", "type", *message.omitted_keys}
    held |= {"name", "tool_call_id"} if message.role is Role.TOOL else set()
    held |= (
        {"tool_calls"} if isinstance(native.get("tool_calls"), list) and message.calls else set()
    )
    held |= {"function_call"} if any(call.legacy for call in message.calls) else set()
    if message.is_assistant:
        held |= _readable_keys(native)
    return {key: value for key, value in native.items() if key not in held}


def as_input_text(part: ToolCall | ToolResult) -> dict[str, object]:
    """Convert a call or result to text, for a position where neither is allowed."""
    text = (
        CALL_NOTE + jsontext.dumps(part.native)
        if isinstance(part, ToolCall)
        else _result_note(part)
    )
    return {"type": "input_text", "text": text}


def _result_note(result: ToolResult) -> str:
    first = note(result)[0]
    return first.text if isinstance(first, Text) else ""


def _readable_keys(native: dict[str, object]) -> set[str]:
    """Return the keys of thinking whose values are as Chat Completions has them.

    Any other value stays under its key.
    """
    blocks = native.get("thinking_blocks")
    has_blocks = isinstance(blocks, list) and all(map(is_thinking, blocks))
    keys = {"thinking_blocks"} if has_blocks else set[str]()
    return keys | (
        {"reasoning_content"} if isinstance(native.get("reasoning_content"), str) else set()
    )


def split_items(message: Message) -> Iterator[Message]:
    """Split a message into items: one for each call or result, one for the parts between them.

    Unknown keys are kept in the first item. The results in an assistant message follow its calls.
    If the content is empty, words under another key, such as ``refusal``, become an item, too.
    """
    message = message.with_words_as_content()
    pending: list[Part] = []
    keys = other_keys(message)
    for part in sorted(
        message.parts, key=lambda part: message.is_assistant and isinstance(part, ToolResult)
    ):
        own = isinstance(part, ToolResult) or (isinstance(part, ToolCall) and message.is_assistant)
        if own and pending:
            yield Message(_message_role(message.role), tuple(pending), keys)
            pending, keys = [], {}
        if isinstance(part, ToolCall) and own:
            yield Message(
                Role.ASSISTANT, (_as_item(with_flat_fields(part), "function_call", keys),)
            )
        elif isinstance(part, ToolResult):
            yield Message(
                Role.TOOL, (_as_item(replace(part, name=None), "function_call_output", keys),)
            )
        else:
            pending.append(_convert_part(part))
            continue
        keys = {}
    if pending or not message.parts:
        yield Message(_message_role(message.role), tuple(pending), keys)


def with_flat_fields(call: ToolCall) -> ToolCall:
    """Return a call with the name and arguments of its top-level keys if it has no function.

    If it has none there either, as a result that was stored among the calls, all its keys become
    the arguments.
    """
    name, arguments = _name_and_arguments(call)
    if (name, arguments) == (None, None) and call.kind == "function":
        keys = {key: value for key, value in call.extra.items() if value}
        arguments = {key: keys[key] for key in keys if key not in ("id", "type")} or None
    return replace(call, name=name, arguments=arguments)


def _name_and_arguments(call: ToolCall) -> tuple[object, object]:
    """Return the name and arguments of a call, from its top-level keys if it has no function.

    A message that was stored among the calls has neither.
    """
    is_read = call.name is not None or call.arguments is not None
    if is_read or isinstance(call.extra.get("function"), dict):
        return call.name, call.arguments
    is_message = "role" in call.extra
    return (None, None) if is_message else openai_chat.flat_name_and_arguments(call.extra)


def loses_keys(message: Message, becomes: tuple[Message, ...]) -> bool:
    """Return whether a message, its texts or its calls have keys with content that is lost."""
    parts = [part for one in becomes for part in one.all_parts]
    kept = {key for one in (*becomes, *parts) for key in one.extra}
    others = other_keys(message.with_words_as_content())
    if any(others.get(key) for key in _ITEM_FIELDS - kept):
        return True
    texts = [part for part in message.all_parts if isinstance(part, Text)]
    if any(part.other_text_keys - kept for part in texts):
        return True
    if not isinstance(message.extra.get("tool_calls"), list):
        return False
    converted = [call for one in becomes for call in one.calls]
    kept = {key for call in converted for key in openai_chat.other_call_keys(call.extra)}
    return any(
        openai_chat.other_call_keys(call.extra).keys() - kept
        for call in message.calls
        if _name_and_arguments(call) != (None, None)  # else all keys become the arguments
    )


def _as_item(part: CallOrResult, kind: str, keys: dict[str, object]) -> CallOrResult:
    kind = {"function_call": "custom_tool_call"}.get(kind, kind) if part.kind == "custom" else kind
    keys = {key: value for key, value in keys.items() if key not in _ITEM_FIELDS}
    return replace(part, native={"type": kind, **keys} if keys else None, legacy=False)


def _message_role(role: Role) -> Role:
    return Role.USER if role is Role.TOOL else role


def _convert_part(part: Part) -> Part:
    if isinstance(part, ToolCall):
        return Text(CALL_NOTE + jsontext.dumps(part.native))
    if isinstance(part, Thinking) and part.location == "reasoning_content":
        return replace(part, location="content", native=None)
    return part
