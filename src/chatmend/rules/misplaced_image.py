"""An image in a message whose role may hold none: in a tool result, in an answer of the assistant, in a system message.

Why: ``Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool'
contains an image URL.`` (OpenAI); ``all content must be type 'text' if 'is_error' is true`` (Anthropic).

Repair: the image goes into a user message behind all results of the same turn, and a text says so where it stood. So
does any other file in a tool result, where the target takes that as a text only (Groq).

Before (openai/gpt-4o):
    [{"role": "user", "content": "look"},
     {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
After:
    [{"role": "user", "content": "look"},
     {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "The image of this tool result is in the next user message."}]},
     {"role": "user", "content": [{"type": "text", "text": "Image from the tool result above:"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.changes import Fix
from chatmend.dialects.pictures import picture
from chatmend.rules import image_words as words
from chatmend.rules.image_repair import IMAGES
from chatmend.rules.rule import Rule
from chatmend.transcript import Media, Message, Part, Role, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.windows import Memory, Window

_WHY = "an image may not stand in this message"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images where the target takes none, and files in what must be a text; they leave behind their run of results."""
    limits, as_text = context.limits.images, Role.TOOL in context.limits.text_content
    if limits.roles is None and limits.error_results and not as_text:
        return
    waiting: list[Part] = []
    for at, message in enumerate(window.messages):
        parts, taken = _apart(message, limits, as_text=as_text)
        waiting += taken
        becomes = message if parts is message.parts else replace(message, parts=parts)
        last = _ends(window.messages, at)
        if not waiting or (becomes is message and not last):
            continue
        if not last:
            yield Fix(at, at + 1, (becomes,), _WHY)
        elif becomes.role is Role.USER:
            yield Fix(at, at + 1, (replace(becomes, parts=(*becomes.parts, *waiting)),), _WHY)
        else:
            yield Fix(at, at + 1, (becomes, Message(Role.USER, tuple(waiting))), _WHY)
        waiting = [] if last else waiting


def find_spoken(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Images in the assistant's turn, where it may hold none: they stand behind it, and its calls are answered."""
    limits = context.limits.images
    if limits.roles is None or "assistant" in limits.roles:
        return
    waiting: list[Part] = []
    for at, message in enumerate(window.messages[: window.run]):
        parts, taken = _apart(message, limits)
        waiting += taken
        if taken:
            yield Fix(at, at + 1, (replace(message, parts=parts),), _WHY)
    if waiting:
        yield Fix(window.run, window.run, (Message(Role.USER, tuple(waiting)),), _WHY)


def _ends(messages: list[Message], at: int) -> bool:
    """Whether no tool result of the same turn follows."""
    return at + 1 == len(messages) or not messages[at + 1].results


def _apart(message: Message, limits: ImageLimits, *, as_text: bool = False) -> tuple[tuple[Part, ...], list[Part]]:
    """The parts without the images that may not stand there, and those images under a label.

    ``as_text``: the target takes a tool result as a text only, so other files may not stand in it either.
    """
    taken: list[Part] = []
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            content, files = _split(part.content, words.IN_RESULT, stays=_takes(part, limits), as_text=as_text)
            parts.append(replace(part, content=content) if files else part)
            label = words.FROM_RESULT if any(picture(file.extra) for file in files) else words.FILE_FROM_RESULT
            taken += [Text(label), *files] if files else []
        else:
            stays = limits.roles is None or message.role in limits.roles
            kept, images = _split((part,), words.IN_MESSAGE, stays=stays)
            parts += kept
            taken += [Text(words.FROM_MESSAGE), *images] if images else []
    return (tuple(parts), taken) if taken else (message.parts, [])


def _takes(result: ToolResult, limits: ImageLimits) -> bool:
    failed = result.is_object and bool(result.extra.get("is_error"))
    holds = limits.roles is None or ("tool" in limits.roles and not result.legacy)
    return holds and (limits.error_results or not failed)


def _split(
    parts: tuple[Part, ...], said: str, *, stays: bool, as_text: bool = False
) -> tuple[tuple[Part, ...], list[Part]]:
    """The parts with words in the place of the images that may not stay, or of every file, and those."""
    kept, leaving = list[Part](), list[Part]()
    for part in parts:
        pictured = isinstance(part, Media) and picture(part.extra) is not None
        if isinstance(part, Media) and (not stays if pictured else as_text):
            leaving.append(part)
            kept.append(Text(said if pictured else words.FILE_IN_RESULT))
        else:
            kept.append(part)
    return (tuple(kept), leaving) if leaving else (parts, leaving)


RULE = Rule("IMG011", "misplaced-image", find, IMAGES)
SPOKEN = Rule("IMG011", "misplaced-image", find_spoken, IMAGES)
