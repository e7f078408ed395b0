r"""A message that is no object, has nothing of a message, or whose content is neither text nor a list of parts.

Why: every provider refuses it: ``messages.0: Input does not match the expected shape.`` (Anthropic), ``Invalid type for
'messages[0].content': expected one of a string or array of objects, but got an object instead.`` (OpenAI).

Repair: what stands there becomes the text of the message (a user message where there is none), as JSON.

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
from chatmend.transcript import Message, Opaque, Part, Role, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.windows import Memory, Window


_OF_MESSAGES = frozenset({"content", "parts", "tool_calls", "function_call", "tool_call_id"})
"""Keys under which a message says something."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages that cannot be read."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if not message.is_object:
            words = tuple(_words(part) if part.is_from(message) else part for part in message.parts)
            yield Fix(at, at + 1, (Message(Role.USER, words),), "the message is no object")
        elif _is_unknown_item(message, context):
            words = (Text(message.as_json),)
            yield Fix(at, at + 1, (Message(Role.USER, words),), "the target knows no such entry", Effect.DEGRADES)
        elif _is_no_message(message, context):
            words = (Text(message.as_json),)
            yield Fix(at, at + 1, (Message(Role.USER, words),), "nothing of a message is there", Effect.DEGRADES)
        elif any(_is_whole(part, message.extra, context.traits.content_keys) for part in message.parts):
            keys = context.traits.content_keys
            words = tuple(_readable(part, message.extra, keys) for part in message.parts)
            bare = {key: value for key, value in message.extra.items() if key not in keys}
            # in its own format this one would lose what the dialect has no place for
            own = context.dialect.translated(replace(message, parts=words))
            becomes = own or (replace(message, parts=words, native=bare),)
            yield Fix(at, at + 1, becomes, "the content is no text and no list")


def _is_unknown_item(message: Message, context: Context) -> bool:
    """Whether an entry is of a type that the target does not know, or a message without a role and a content."""
    known, kind = context.limits.item_types, message.kind
    return (
        known is not None and message.is_entry and not (isinstance(kind, str) and kind != "message" and kind in known)
    )


def _is_no_message(message: Message, context: Context) -> bool:
    """Whether a dict says something, but under no key that a message has."""
    if message.parts or "role" in message.extra or context.limits.item_types is not None:
        return False
    said = {key: value for key, value in message.extra.items() if str(key)[:1] != "_"}
    return _OF_MESSAGES.isdisjoint(said) and any(True for value in said.values() for _ in jsontext.strings(value))


def _is_whole(part: Part, native: dict[str, object], keys: tuple[str, ...]) -> bool:
    """Whether a part is all that stands under the message's content, or under a result's."""
    if isinstance(part, ToolResult) and not part.is_hosted:
        return any(_is_whole(inner, part.extra, keys) for inner in part.content)
    return isinstance(part, Opaque) and part.stands_under(native, keys)


def _readable(part: Part, native: dict[str, object], keys: tuple[str, ...]) -> Part:
    if isinstance(part, ToolResult) and part.is_object:
        held = part.extra
        content = tuple(_readable(inner, held, keys) for inner in part.content)
        bare = {k: v for k, v in held.items() if k not in keys}
        return part if content == part.content else replace(part, content=content, native=bare)
    if _is_whole(part, native, keys):
        return _words(part)
    return Text(part.text) if isinstance(part, Text) and part.stands_under(native, keys) else part


def _words(part: Part) -> Text:
    return Text(part.text if isinstance(part, Text) else part.as_json)


RULE = Rule("MSG001", "unreadable-message", find, STRUCTURE)
