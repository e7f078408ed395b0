"""A content part that the target cannot read.

It is a bare string, has no type, or has a type or a file of another provider.

Why: ``Missing required parameter: 'messages[1].content[0].type'.`` (OpenAI); ``Input tag
'image_url' found using 'type' does not match any of the expected tags``, ``all content must be type
'text' if 'is_error' is true`` (Anthropic).

Repair: A string becomes a text part. A part without a readable type is converted to text, as JSON;
text parts in a list or inside each other become one text. A block of the Converse API with several
keys becomes one block for each. A file becomes its content if it is a text, else a text with its
name, type and size. A part of a known type is unchanged, unless it names a file that the target
does not store. In a result that is marked as an error, Claude reads only texts: a reference to a
tool becomes a text with its name, and other blocks become JSON; images and documents move (IMG011).

Before (openai/gpt-4o):
    [{"role": "user", "content": ["look", {"text": "here"}]}]
After:
    [{"role": "user", "content": ["look", {"text": "here", "type": "text"}]}]
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects import server_tools
from chatmend.dialects.attachments import find_attachment
from chatmend.dialects.blocks import CACHE_POINTS, is_complete
from chatmend.dialects.content import file_id, read_part
from chatmend.dialects.pictures import find_picture, has_image_data
from chatmend.placeholders import CONTINUED, TOOL_REFERENCE
from chatmend.rules import document_words, image_words
from chatmend.rules.image_repair import is_text_only
from chatmend.rules.rule import STRUCTURE, KeyedJudge, Rule
from chatmend.transcript import (
    TEXTS,
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolResult,
    is_unchanged,
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window


_MESSAGE_ONLY_TYPES = ("tool_use", "tool_result")
"""Types of blocks that no tool result may hold, for formats that do not list what it may hold."""
_UPLOAD = "container_upload"
_CACHED = "cached_images"
"""The limit: with a ``uuid``, an image part without data refers to an image that the server has."""
_MARKERS = ("cache_control",)
_UNKNOWN_TO_BOTO3 = "SDK_UNKNOWN_MEMBER"
_WHY = "this model does not take it in this form"
_CONTENT_KEYS = ("text", "image_url", "video_url", "file_url", "input_audio", "file")
"""Types of content parts whose content is under a key of the same name."""


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for parts whose type is missing or unknown, and for misplaced media."""
    if context.limits.roles is None:
        return
    moved_media: list[Part] = []
    for at, message in enumerate(window.messages):
        if at == window.run_length and moved_media:
            yield _insert_media(window, moved_media)
            moved_media = []
        if message.is_opaque:
            continue
        listed = isinstance(message.extra.get(context.traits.content_keys[0]), list)
        known = context.accepted_types(message)
        parts = tuple(_repair_part(part, known, context, listed=listed) for part in message.parts)
        repaired = parts
        misplaced: list[Part] = []
        if at < window.run_length and (
            misplaced := [part for part in parts if _is_misplaced(part, known, context)]
        ):
            parts = tuple(part for part in parts if not _is_misplaced(part, known, context)) or (
                Text(CONTINUED),
            )
        if not is_unchanged(message.parts, parts):
            replaced = list(_replaced(message.parts, repaired))
            kept = all(_is_kept_as_text(old) for old, _ in replaced)
            effect = (
                Effect.DEGRADES if not kept else Effect.ADDS if _is_new(parts) else Effect.RESHAPES
            )
            if any(_has_data(old) or _loses_texts(old, new) for old, new in replaced):
                effect = Effect.DROPS
            # If the policy does not allow the fix, the media stay in the message.
            moved_media += misplaced if effect <= context.policy.allow else []
            yield Fix(
                at,
                at + 1,
                (message.with_parts(parts),),
                "the target does not accept a content part of this type",
                effect,
            )
    if moved_media:
        yield _insert_media(window, moved_media)


def _replaced(before: tuple[Part, ...], after: tuple[Part, ...]) -> Iterator[tuple[Part, Part]]:
    """Yield each part, also in results, that another part replaces, with the other one."""
    for old, new in zip(before, after, strict=True):
        if isinstance(old, ToolResult) and isinstance(new, ToolResult):
            yield from _replaced(old.content, new.content)
        elif old is not new:
            yield old, new


def _loses_texts(old: Part, new: Part) -> bool:
    """Return whether a text loses texts under other keys, such as its citations."""
    return isinstance(old, Text) and not old.other_text_keys <= new.extra.keys()


def _is_kept_as_text(part: Part) -> bool:
    """Return whether a part that becomes a text loses nothing."""
    if isinstance(part, Text) or _text_in(part):
        return True
    is_text = jsontext.is_one_of(part.extra.get("type", "text"), TEXTS)
    return part.is_object and is_text and not _has_content(part)


def _is_new(parts: tuple[Part, ...]) -> bool:
    return (
        len(parts) == 1
        and isinstance(parts[0], Text)
        and parts[0].is_generated
        and parts[0].text == CONTINUED
    )


def _insert_media(window: Window, media: list[Part]) -> Fix:
    why = "the target does not accept media in assistant messages"
    return Fix(window.run_length, window.run_length, (Message(Role.USER, tuple(media)),), why)


def _is_misplaced(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Return whether a part of an assistant message is media that only a user may send."""
    if not context.traits.types_by_role or not isinstance(part, Media) or known is None:
        return False
    kind = context.dialect.kind_of(part.extra)
    return (
        isinstance(kind, str) and kind not in known and kind in (context.limits.block_types or ())
    )


def _repair_part(
    part: Part, known: frozenset[str] | None, context: Context, *, listed: bool
) -> Part:
    if isinstance(part, ToolResult):
        return _repair_result(part, known, context)
    if isinstance(part, Text):
        return _repair_text(part, known, context, listed=listed)
    return _as_text(part) if _is_unreadable(part, known, context) else part


def _repair_result(
    result: ToolResult, known: frozenset[str] | None, context: Context
) -> ToolResult:
    if context.traits.names_results or result.is_hosted:
        return result
    native = result.extra
    inner = any(isinstance(native.get(key), list) for key in context.traits.content_keys)
    # A result is sent in a user message, even if it is in an assistant message now.
    known = context.limits.block_types if context.traits.types_by_role else known
    text_only = is_text_only(result, context.limits.images)
    content = tuple(
        _as_text(part)
        if known is not None and _is_message_only(part, context)
        else _as_text(part)
        if text_only and isinstance(part, Opaque)
        else _repair_part(part, known, context, listed=inner)
        for part in result.content
    )
    return result if is_unchanged(result.content, content) else replace(result, content=content)


def _repair_text(
    text: Text, known: frozenset[str] | None, context: Context, *, listed: bool
) -> Text:
    limits, native = context.limits, text.extra
    if text.raw_string is not None:
        return (
            Text(text.text, {"type": "text", "text": ""})
            if listed and not limits.bare_strings
            else text
        )
    if not text.is_object:
        return text
    kind = context.dialect.kind_of(native)
    if kind is None and (known is None or "text" in known):
        stays = limits.typeless_parts and "type" not in native
        return text if stays else Text(text.text, {**native, "type": "text"})
    return text if isinstance(kind, str) and (known is None or kind in known) else Text(text.text)


def _is_unreadable(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Return whether the target cannot read the part or the file that it names."""
    limits, native = context.limits, part.extra
    kind = context.dialect.kind_of(native)
    if _lacks_image(part, kind, context) and not (limits.media_without_data and kind == "image"):
        return True
    if isinstance(part, Media) and _is_foreign_file(native, limits.file_references):
        return True
    if not isinstance(part, Media | Thinking):
        return isinstance(part, Opaque) and not _may_be_readable(part, known, context)
    kind = kind if kind is None or isinstance(kind, str) else jsontext.equality_key(kind)
    is_content = location_of(part) not in ("own", "thinking_blocks")
    fits = not is_content or not part.is_object or known is None or kind in known
    fits = fits or (
        part.is_object and kind is None and "type" not in native and limits.typeless_parts
    )
    return not fits and not _is_misplaced(part, known, context)


def _lacks_image(part: Part, kind: object, context: Context) -> bool:
    """Return whether an image part holds no image, or only under a key that the target refuses."""
    if not isinstance(part, Media) or kind not in ("image_url", "image"):
        return False
    native = part.extra
    if context.limits.of(_CACHED) and isinstance(native.get("uuid"), str):
        return False
    known = context.traits.keys_by_type.get(str(kind)) if context.limits.block_keys else None
    return not has_image_data(
        native if known is None else {key: native[key] for key in native if key in known}
    )


def _is_message_only(part: Part, context: Context) -> bool:
    """Return whether a part of a result may be only in a message, as thinking and calls may.

    A cache point is none: it moves behind the result (CACHE002). Nor are media, which other rules
    move or convert, except an upload.
    """
    kind, types = context.dialect.kind_of(part.extra), context.traits.result_types
    if isinstance(part, Thinking) or kind == _UPLOAD:
        return True
    if not isinstance(part, Opaque) or not isinstance(kind, str) or kind in CACHE_POINTS:
        return False
    return kind not in types if types else kind in _MESSAGE_ONLY_TYPES


def _is_foreign_file(native: object, file_pattern: str | None) -> bool:
    """Return whether a part names a file that the target does not store."""
    name = file_id(native) if file_pattern is not None else None
    return file_pattern is not None and name is not None and re.search(file_pattern, name) is None


def _may_be_readable(part: Part, known: frozenset[str] | None, context: Context) -> bool:
    """Return whether the target may be able to read a part that chatmend cannot."""
    native = part.extra
    kind = context.dialect.kind_of(native)
    if native and kind is None and "type" not in native:
        return context.limits.typeless_parts
    return (
        isinstance(kind, str)
        and bool(kind)
        and kind not in TEXTS
        and (known is None or kind in known)
        and not (kind == "refusal" and _refusal_of(part) is None)
        and not _is_incomplete(native, context)
    )


def _is_incomplete(native: dict[str, object], context: Context) -> bool:
    """Return whether a block lacks a key that its type requires.

    TOOL017 repairs the blocks of hosted tools that have an id.
    """
    is_paired = server_tools.call_id(native) or server_tools.result_call_id(native)
    if is_paired or not context.limits.block_keys:
        return False
    return not is_complete(native, context.traits.required_keys)


def _text_in(part: Part) -> str | None:
    """Return the text of a part that holds nothing else; None for any other part."""
    refusal = _refusal_of(part)
    return part.nested_text if refusal is None else refusal


def _refusal_of(part: Part) -> str | None:
    """Return the text of a refusal; None if the part is none."""
    refusal = part.extra.get("refusal") if part.extra.get("type") == "refusal" else None
    return refusal if isinstance(refusal, str) else None


def find_mixed(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes that divide parts which also hold the content of another type."""
    if context.limits.roles is None:
        return
    if context.traits.one_kind_blocks and context.limits.part_keys is not None:
        yield from _find_mixed_blocks(window, context)
    if context.limits.mixed_parts:
        return
    for at, message in enumerate(window.messages):
        parts = message.parts if message.is_opaque else _split_mixed(message.parts)
        if parts is not message.parts:
            why = "a content part also holds the content of another type"
            yield Fix(at, at + 1, (message.with_parts(parts),), why)


def _find_mixed_blocks(window: Window, context: Context) -> Iterator[Fix]:
    """Yield fixes that divide blocks with several keys where each block has only one."""
    for at, message in enumerate(window.messages):
        blocks = message.extra.get("content")
        if not isinstance(blocks, list) or not any(map(_may_be_mixed, message.parts)):
            continue
        split = [piece for block in blocks for piece in _blocks_in(block, context)]
        if not is_unchanged(blocks, split):
            parts = context.dialect.read({**message.extra, "content": split}).parts
            why = "a block has the keys of several blocks"
            yield Fix(at, at + 1, (message.with_parts(parts),), why)


def _may_be_mixed(part: Part) -> bool:
    held = (part, *part.content) if isinstance(part, ToolResult) else (part,)
    return any(one.is_object and len(one.extra) > 1 for one in held)


def _blocks_in(block: Any, context: Context) -> list[Any]:  # noqa: ANN401 - any JSON value
    """Return a block for each key of a block: reasoning first and a cache point last.

    Keys with null hold nothing. The block itself if it holds one kind, or if one is malformed.
    """
    if not isinstance(block, dict):
        return [block]
    known = context.limits.part_keys or frozenset()
    kinds = [key for key in block if key in known and block[key] is not None]
    rest = {key: value for key, value in block.items() if key not in known}
    kinds.sort(key=lambda key: (key in CACHE_POINTS, key != "reasoningContent"))
    is_mixed = bool(kinds) and len(rest) + 1 < len(block)
    if is_mixed and all(context.dialect.kind_of({key: block[key]}) for key in kinds):
        found: list[Any] = [{key: block[key]} for key in kinds]
        found[0] |= rest
    else:
        found = [block]
    return [_with_inner_blocks(one, context) for one in found]


def _with_inner_blocks(block: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return a block whose result, if it is one, has only blocks of one kind."""
    result = block.get("toolResult")
    inner = result.get("content") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(inner, list):
        return block
    split = [piece for one in inner for piece in _blocks_in(one, context)]
    if is_unchanged(inner, split):
        return block
    return {**block, "toolResult": {**result, "content": split}}


def _split_mixed(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with each value under the key of another type as a part of its own."""
    split = tuple(piece for part in parts for piece in _pieces(part))
    return parts if is_unchanged(parts, split) else split


def _pieces(part: Part) -> list[Part]:
    native = part.extra
    own = native.get("type")
    other = [key for key in _CONTENT_KEYS if key in native and key != own]
    if own not in _CONTENT_KEYS or not other:
        return [part]
    kept = {key: value for key, value in native.items() if key not in other}
    others = [read_part({"type": key, key: native[key]}) for key in other if native[key]]
    return [*others, replace(part, native=kept)] if own in kept or not others else others


def _referenced_tool(part: Part) -> str | None:
    """Return the name of the tool that a part refers to; None for any other part."""
    name = part.extra.get("tool_name") if part.extra.get("type") == "tool_reference" else None
    return name if isinstance(name, str) else None


def _as_text(part: Part) -> Part:
    if (name := _referenced_tool(part)) is not None:
        return Text(f"{TOOL_REFERENCE}{name}")
    if (text := _text_in(part)) is not None:
        return Text(text, {"type": "text", "text": ""})
    if (text := _text_of_file(part)) is not None:
        return Text(document_words.with_own_text(part.extra, text), {"type": "text", "text": ""})
    if _has_content(part):
        return Text(part.as_json, {"type": "text", "text": ""})
    marker = {key: part.extra[key] for key in _MARKERS if key in part.extra}
    return Text("", {"type": "text", "text": "", **marker} if marker else None)


def _has_content(part: Part) -> bool:
    """Return whether a part holds anything: null is nothing, and so is a list without entries.

    The dumps of SDKs have them: ``{"type": "text", "text": null, "annotations": []}``. Of a block
    that it does not know, boto3 keeps only the name.
    """
    if _UNKNOWN_TO_BOTO3 in part.extra:
        return False
    if not part.is_object:
        return not part.has_empty_native
    native = part.extra
    if "text" not in native or native["text"] is not None:
        return any(key != "type" and native[key] is not None for key in native)
    rest = (native[key] for key in native if key != "type" and key not in _MARKERS)
    return any(
        value is not None and not (isinstance(value, list | dict) and not value) for value in rest
    )


def _text_of_file(part: Part) -> str | None:
    """Return the content of a file, or what it was; None if the part holds no file."""
    if (found := find_attachment(part.extra)) is not None:
        return document_words.replacement(found, _WHY)
    picture = find_picture(part.extra)
    if picture is None or picture.payload is None:
        return None
    return image_words.removed_text(picture.payload.probe(), _WHY)


def _has_data(part: Part) -> bool:
    """Return whether the part holds a file whose data is lost when it becomes text."""
    found = find_attachment(part.extra)
    if found is None:
        picture = find_picture(part.extra)
        return picture is not None and picture.payload is not None
    return found.payload is not None and document_words.content_of_attachment(found) is None


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    return (
        None
        if limits.file_references is None
        else lambda part: _is_foreign_file(part, limits.file_references)
    )


RULE = Rule(
    "PART001",
    "unknown-part",
    find,
    {"parts": KeyedJudge(frozenset({"file"}), _judge)},
    own_limits={_CACHED: bool},
)
MIXED = Rule("PART001", "unknown-part", find_mixed, STRUCTURE)
