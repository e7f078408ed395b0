r"""A message that is no object, or whose content is neither text nor a list of parts.

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
from chatmend.changes import Fix
from chatmend.rules.rule import Context, Rule
from chatmend.transcript import Message, Opaque, Part, Role, Text, ToolResult
from chatmend.windows import Memory, Symptom, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Messages that cannot be read."""
    if context.limits.roles is None:
        return
    for at, message in enumerate(window.messages):
        if not isinstance(message.native, dict):
            words = tuple(_readable(part, message.native) for part in message.parts)
            yield Fix(at, at + 1, (Message(Role.USER, words),), "the message is no object")
        elif any(_is_whole(part, message.native) for part in message.parts):
            words = tuple(_readable(part, message.native.get("content")) for part in message.parts)
            bare = {key: value for key, value in message.native.items() if key != "content"}
            yield Fix(at, at + 1, (replace(message, parts=words, native=bare),), "the content is no text and no list")


def _is_whole(part: Part, native: dict[str, object]) -> bool:
    if isinstance(part, ToolResult):
        inner = native.get("content") if part.native is native else _inner(part.native)
        return any(isinstance(p, Opaque) and p.native is inner for p in part.content)
    return isinstance(part, Opaque) and part.native is native.get("content")


def _inner(native: object) -> object:
    return native.get("content") if isinstance(native, dict) else None


def _readable(part: Part, whole: object) -> Part:
    if isinstance(part, ToolResult):
        inner = _inner(part.native)
        bare = {k: v for k, v in part.native.items() if k != "content"} if isinstance(part.native, dict) else None
        content = tuple(_readable(p, inner) for p in part.content)
        return part if content == part.content else replace(part, content=content, native=bare)
    if isinstance(part, Opaque) and part.native is whole:
        return Text(jsontext.dumps(whole))
    return part if not isinstance(part, Text) or part.native is not whole else Text(part.text)


RULE = Rule("MSG001", "unreadable-message", Symptom.UNREADABLE | Symptom.ROLE, find)
