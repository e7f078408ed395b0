r"""A message that is not an object, has no key of a message, or has malformed content.

Content is malformed if it is neither text nor a list of parts.

Why: Every provider refuses it: ``messages.0: Input does not match the expected shape.``
(Anthropic), ``Invalid type for 'messages[0].content': expected one of a string or array of objects,
but got an object instead.`` (OpenAI).

Repair: The malformed value becomes the text of the message, as JSON unless it is a string or a text
part. A value that is not part of a message becomes a user message.

Before (openai/gpt-4o):
    [{"role": "user", "content": {"wrong": "format"}}]
After:
    [{"role": "user", "content": "{\"wrong\": \"format\"}"}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.rules.rule import STRUCTURE, Rule
from chatmend.transcript import Message, Opaque, Part, Role, Text, ToolResult, is_private_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


_MESSAGE_KEYS = frozenset({"content", "parts", "tool_calls", "function_call", "tool_call_id"})
"""Keys that hold the content of a message."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that convert messages which cannot be read to text."""
    if context.limits.roles is None:
        return
    content_keys = (*context.traits.content_keys, *context.traits.image_keys)
    for at, message in enumerate(window.messages):
        if not message.is_object:
            texts = tuple(
                _as_text(part) if part.has_same_native(message) else part for part in message.parts
            )
            yield Fix(at, at + 1, (Message(Role.USER, texts),), "the message is not an object")
        elif _is_unknown_item(message, context):
            texts = (Text(message.as_json),)
            yield Fix(
                at,
                at + 1,
                (Message(Role.USER, texts),),
                "the target does not know this type of item",
                Effect.DEGRADES,
            )
        elif _lacks_message_keys(message, context):
            texts = (Text(message.as_json),)
            yield Fix(
                at,
                at + 1,
                (Message(Role.USER, texts),),
                "the object has none of the keys of a message",
                Effect.DEGRADES,
            )
        elif any(
            _is_malformed_content(part, message.extra, content_keys) for part in message.parts
        ):
            texts = tuple(
                _convert_content(part, message.extra, content_keys) for part in message.parts
            )
            inner = tuple(part for result in message.results for part in result.content)
            held = (*message.parts, *inner)
            without_content = _without_content(message.extra, held, content_keys)
            # A message of another format would lose keys that the dialect does not have.
            own = context.dialect.translate_foreign(message.with_parts(texts))
            becomes = own or (replace(message, parts=texts, native=without_content),)
            yield Fix(at, at + 1, becomes, "the content is neither text nor a list")


def _is_unknown_item(message: Message, context: Context) -> bool:
    """Return whether an item has a type that the API does not have.

    A message without role and content counts as such an item.
    """
    is_known = jsontext.is_one_of(message.kind, context.traits.item_types)
    return context.limits.item_types is not None and message.is_opaque and not is_known


def _lacks_message_keys(message: Message, context: Context) -> bool:
    """Return whether a dict has text, but none of the keys of a message."""
    if message.parts or "role" in message.extra or context.limits.item_types is not None:
        return False
    values = {key: value for key, value in message.extra.items() if not is_private_key(key)}
    return _MESSAGE_KEYS.isdisjoint(values) and any(
        True for value in values.values() for _ in jsontext.strings(value)
    )


def _is_malformed_content(part: Part, native: dict[str, object], keys: tuple[str, ...]) -> bool:
    """Return whether a part is the unreadable content of the message, or of a result."""
    if isinstance(part, ToolResult) and not part.is_hosted:
        return any(_is_malformed_content(inner, part.extra, keys) for inner in part.content)
    return isinstance(part, Opaque) and part.is_value_in(native, keys)


def _convert_content(part: Part, native: dict[str, object], keys: tuple[str, ...]) -> Part:
    if isinstance(part, ToolResult) and part.is_object:
        result = part.extra
        content = tuple(_convert_content(inner, result, keys) for inner in part.content)
        without_content = _without_content(result, part.content, keys)
        return (
            part
            if content == part.content
            else replace(part, content=content, native=without_content)
        )
    if _is_malformed_content(part, native, keys):
        return _as_text(part)
    return Text(part.text) if isinstance(part, Text) and part.is_value_in(native, keys) else part


def _without_content(
    native: dict[str, object], parts: tuple[Part, ...], keys: tuple[str, ...]
) -> dict[str, object]:
    """Return the keys that do not hold these parts.

    What another dialect has under a content key stays, so that the rule on refused keys reports it.
    """
    read = {
        key
        for key in keys
        if isinstance(native.get(key), list)
        or any(part.is_value_in(native, (key,)) for part in parts)
    }
    return {key: value for key, value in native.items() if key not in read}


def _as_text(part: Part) -> Text:
    if isinstance(part, Text):
        return Text(part.text)
    found = part.nested_text if part.raw_string is None else part.raw_string
    return Text(part.as_json if found is None else found)


RULE = Rule("MSG001", "unreadable-message", find, STRUCTURE)
