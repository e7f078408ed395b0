"""An image in a message whose role may not hold images for this target.

It is in a tool result, an assistant message or a system message.

Why: ``Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this
message with role 'tool' contains an image URL.`` (OpenAI); ``all content must be type 'text' if
'is_error' is true`` (Anthropic); ``Unable to submit request because the mime_type: audio/mpeg is
not supported in `function_response.parts`.`` (Gemini 3); ``Invalid value: 'file'. Supported values
are: 'text', 'refusal', 'image_url', and 'input_audio'`` (OpenAI, for a file in a tool message).

Repair: The image moves to a user message after all results of the same turn, and a text in its old
position refers to it. Other files in a tool result move too if the target accepts only text there
(Z.AI; Claude in a result that is marked as an error). All of them move if Gemini 3 is called
through langchain-google-genai: it makes separate parts of them, and Gemini 3 accepts no other part
in a message with tool results. Audio and video in a result move for Gemini 3, documents for OpenAI
in Chat Completions.

Before (openai/gpt-4o):
    [{"role": "user", "content": "look"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": [
         {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
After:
    [{"role": "user", "content": "look"},
     {"role": "assistant", "content": null, "tool_calls": [
         {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
     {"role": "tool", "tool_call_id": "call_1", "content": [
         {"type": "text", "text": "The image of this tool result is in the next user message."}]},
     {"role": "user", "content": [
         {"type": "text", "text": "Image from the tool result above:"},
         {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from chatmend.changes import Fix
from chatmend.dialects.pictures import find_picture
from chatmend.rules import image_words as words
from chatmend.rules.image_repair import IMAGES, is_text_only
from chatmend.rules.rule import Rule
from chatmend.transcript import Media, Message, Part, Role, Text, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.targets.image_limits import ImageLimits
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

_LIMIT = "files_in_results"
"""Whether the target gets the files of a tool result in a form that it accepts."""
_RECORDINGS, _DOCUMENTS = "recordings_in_results", "documents_in_results"
"""Whether the target accepts audio and video, or documents, in tool results."""
_RECORDING_KINDS = frozenset(("audio", "video"))
_DOCUMENT_KINDS = frozenset(("document", "file"))
_OTHER_KINDS = frozenset(("audio", "video", "document", "file", "image"))
"""The kinds of files; a part of kind ``image`` without a known picture is one of them."""
_NOT_IN_RESULTS: frozenset[Literal["system", "user", "assistant", "tool"]] = frozenset(
    ("system", "user", "assistant")
)
_WHY = "the target does not accept an image or file in this message"


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move refused images and files after the tool results of their turn."""
    limits, refused = context.limits.images, _refused_kinds(context.limits)
    if context.limits.of(_LIMIT) is False:
        roles = _NOT_IN_RESULTS if limits.roles is None else limits.roles & _NOT_IN_RESULTS
        limits = replace(limits, roles=roles)
    if limits.roles is None and limits.error_results and not refused:
        return
    moved: list[Part] = []
    for at, message in enumerate(window.messages):
        parts, taken = _split_message(message, limits, refused)
        moved += taken
        becomes = message if parts is message.parts else message.with_parts(parts)
        last = _is_end_of_results(window.messages, at)
        if not moved or (becomes is message and not last):
            continue
        if not last:
            yield Fix(at, at + 1, (becomes,), _WHY)
        elif becomes.role is Role.USER and not context.limits.results_alone:
            yield Fix(at, at + 1, (becomes.with_parts((*becomes.parts, *moved)),), _WHY)
        else:
            yield Fix(at, at + 1, (becomes, Message(Role.USER, tuple(moved))), _WHY)
        moved = [] if last else moved


def _refused_kinds(limits: Limits) -> frozenset[str]:
    """Return the kinds of files, apart from images, that the target refuses in tool results."""
    if Role.TOOL in limits.text_content or limits.of(_LIMIT) is False:
        return _OTHER_KINDS
    recordings = _RECORDING_KINDS if limits.of(_RECORDINGS) is False else frozenset()
    return recordings | (_DOCUMENT_KINDS if limits.of(_DOCUMENTS) is False else frozenset())


def find_in_assistant(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that move images out of the assistant's messages, directly after them.

    The new user message ends the turn, so other rules add the missing results of its calls.
    """
    limits = context.limits.images
    if limits.roles is None or "assistant" in limits.roles:
        return
    moved: list[Part] = []
    for at, message in enumerate(window.messages[: window.run_length]):
        parts, taken = _split_message(message, limits)
        moved += taken
        if taken:
            yield Fix(at, at + 1, (message.with_parts(parts),), _WHY)
    if moved:
        yield Fix(window.run_length, window.run_length, (Message(Role.USER, tuple(moved)),), _WHY)


def _is_end_of_results(messages: list[Message], at: int) -> bool:
    """Return whether the next message has no tool result."""
    return at + 1 == len(messages) or not messages[at + 1].results


def _split_message(
    message: Message, limits: ImageLimits, refused: frozenset[str] = frozenset()
) -> tuple[tuple[Part, ...], list[Part]]:
    """Return the parts without refused images, and these images, each group after a label.

    ``refused``: the kinds of other files that the target refuses in tool results.
    """
    if not any(map(_holds_file, message.parts)):
        return message.parts, []
    taken: list[Part] = []
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult) and part.is_hosted:
            parts.append(part)  # the screenshot of a computer call, which has no other place
        elif isinstance(part, ToolResult):
            content, files = _split_parts(
                part.content,
                words.IN_RESULT,
                images_stay=_accepts_images(part, limits),
                refused=_OTHER_KINDS if is_text_only(part, limits) else refused,
            )
            parts.append(replace(part, content=content) if files else part)
            label = (
                words.FROM_RESULT
                if any(find_picture(file.extra) for file in files)
                else words.FILE_FROM_RESULT
            )
            taken += [Text(label), *files] if files else []
        else:
            images_stay = limits.roles is None or message.role in limits.roles
            kept, images = _split_parts((part,), words.IN_MESSAGE, images_stay=images_stay)
            parts += kept
            taken += [Text(words.FROM_MESSAGE), *images] if images else []
    return (tuple(parts), taken) if taken else (message.parts, [])


def _holds_file(part: Part) -> bool:
    held = part.content if isinstance(part, ToolResult) else (part,)
    return any(isinstance(inner, Media) for inner in held)


def _accepts_images(result: ToolResult, limits: ImageLimits) -> bool:
    holds = limits.roles is None or ("tool" in limits.roles and not result.legacy)
    return holds and not is_text_only(result, limits)


def _split_parts(
    parts: tuple[Part, ...],
    replacement: str,
    *,
    images_stay: bool,
    refused: frozenset[str] = frozenset(),
) -> tuple[tuple[Part, ...], list[Part]]:
    """Return the parts with texts in place of refused images and files, and what was replaced.

    Images are refused unless ``images_stay``, other files if their kind is ``refused``.
    """
    kept, leaving = list[Part](), list[Part]()
    for part in parts:
        is_image = isinstance(part, Media) and find_picture(part.extra) is not None
        if isinstance(part, Media) and (not images_stay if is_image else part.kind in refused):
            leaving.append(part)
            kept.append(Text(replacement if is_image else words.FILE_IN_RESULT))
        else:
            kept.append(part)
    return (tuple(kept), leaving) if leaving else (parts, leaving)


RULE = Rule(
    "IMG011",
    "misplaced-image",
    find,
    IMAGES,
    own_limits={_LIMIT: bool, _RECORDINGS: bool, _DOCUMENTS: bool},
)
ASSISTANT = Rule("IMG011", "misplaced-image", find_in_assistant, IMAGES)
