"""A content part that the converter of the client library cannot send.

Partner packages of LangChain build the request from its messages. On a block of another provider
they raise an exception, drop it silently, or send a form that the provider refuses.

Why: ``KeyError: 'toolUseId'`` (langchain-aws, for a server tool of OpenAI); ``ValueError:
Unsupported message content type`` (langchain-ollama); ``mime_type key is required for base64 data``
and ``OpenAI Chat Completions does not support file URLs.`` (langchain-core).

Repair: The part is converted to a part with the same content that the converter can send. If there
is none, it becomes text: of a file its content, or its name, type and size; else its JSON.
Reasoning of another provider is removed if it would be refused. This runs only in the adapter for
LangChain.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from chatmend import jsontext
from chatmend.changes import Effect, Fix
from chatmend.dialects import blocks
from chatmend.dialects.attachments import ATTACHMENT_KEYS, file_as_block, find_attachment
from chatmend.dialects.entries import missing_keys, with_required_keys
from chatmend.dialects.formats import ITEM_KEYS
from chatmend.dialects.pictures import find_picture
from chatmend.rules import document_words, image_words
from chatmend.rules.rule import KeyedJudge, Rule
from chatmend.targets.converter_limits import ConverterLimits
from chatmend.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chatmend.context import Context
    from chatmend.dialects import Traits
    from chatmend.rules.rule import Judge
    from chatmend.targets.limits import Limits
    from chatmend.windows import Memory, Window

LIMIT = "converter"
STANDARD = "chatmend:standard"
"""The key of an answer in LangChain's own format, if the converter sends few of its blocks."""
Block = dict[str, Any]
Origin = Literal["user", "system", "answer", "own", "foreign", "result"]
"""Who wrote a part.

``answer``: a model of an unknown provider. ``own``: the target's
provider. ``foreign``: another provider. ``result``: a tool.
"""
_ORIGINS: dict[Role | None, Origin] = {
    Role.TOOL: "result",
    Role.SYSTEM: "system",
    Role.DEVELOPER: "system",
}
_HOSTED_ITEMS = ITEM_KEYS.keys() - {"reasoning", "message", "function_call", "custom_tool_call"}
"""LangChain's own blocks of reasoning have other keys than the items that they become."""
_FILES = frozenset({"image", "file", "audio", "video", "text-plain"})
"""LangChain's own blocks that hold an image or a file."""
_OPENAI_FILES = frozenset({"file", "input_audio"})
"""Types of parts of Chat Completions with a file or recording."""
_WHY = "the partner package cannot send this form"
_NOT_TAKEN = "the model does not take it in this form"


class _Sent(NamedTuple):
    """The form in which a part is sent; None if it is not sent."""

    part: Part | None
    effect: Effect = Effect.RESHAPES


def find(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield fixes for the messages with a part that the converter cannot send."""
    converter: ConverterLimits | None = context.limits.of(LIMIT)
    if converter is None:
        return
    for at, message in enumerate(window.messages):
        if not isinstance(message.extra.get("content"), list):
            continue
        parts, effect = _sent_parts(message, converter)
        if not is_unchanged(message.parts, parts):
            yield Fix(at, at + 1, (message.with_parts(parts),), _WHY, effect)


def _sent_parts(message: Message, converter: ConverterLimits) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts of a message in the form in which they are sent, and the worst effect."""
    origin, is_standard = _origin_of(message, converter), STANDARD in message.extra
    limits = _in_standard_format(converter) if is_standard else converter
    parts, effect = _send_all(message.parts, origin, limits)
    if not message.is_assistant:
        return parts, effect
    parts, more = _without_useless(parts, converter)
    effect = max(effect, more)
    if is_standard:
        parts, more = _joined([_send_in_standard_format(part, origin, limits) for part in parts])
        effect = max(effect, more)
    return parts, effect


@lru_cache(maxsize=64)
def _in_standard_format(converter: ConverterLimits) -> ConverterLimits:
    """Return what the converter sends of an answer in LangChain's own format."""
    origins = {"own", "answer", "foreign"} if converter.foreign_values else {"own", "answer"}
    return replace(converter, unwraps=converter.unwraps | origins)


def find_moved(window: Window, memory: Memory, context: Context) -> Iterator[Fix]:
    """Yield the same fixes for parts that other rules have moved to a message of another role.

    What the policy does not allow is reported already, except in new messages.
    """
    for fix in find(window, memory, context):
        if fix.effect <= context.policy.allow or window.origins[fix.start] is None:
            yield fix


def _origin_of(message: Message, converter: ConverterLimits) -> Origin:
    if not message.is_assistant:
        return _ORIGINS.get(message.role, "user")
    if message.provider in converter.writers:
        return "own"
    return "foreign" if message.provider else "answer"


def _send_all(
    parts: tuple[Part, ...], origin: Origin, converter: ConverterLimits
) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts in the form in which they are sent, and the worst effect."""
    out, effect = _joined([_send(part, origin, converter) for part in parts])
    if parts and not out and all(_is_cache_point(part.extra) for part in parts):
        out = (Text(jsontext.dumps(parts[0].extra)),)  # the message would have no content
    return out, effect


def _joined(sent: list[_Sent]) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts that are sent, and the worst effect."""
    parts = tuple(one.part for one in sent if one.part is not None)
    return parts, max((one.effect for one in sent), default=Effect.RESHAPES)


def _send(part: Part, origin: Origin, converter: ConverterLimits) -> _Sent:
    if isinstance(part, ToolResult):
        content, effect = _send_all(part.content, "result", converter)
        part = _reshape_result(part, origin, converter) if part.is_object else part
        same = is_unchanged(content, part.content)
        return _Sent(part if same else replace(part, content=content), effect)
    block = part.extra
    is_function = isinstance(part, ToolCall) and not part.is_hosted
    if not block or is_function or not is_block(part):
        return _Sent(part)
    block = _inner_block(block, origin, converter)
    return _send_block(part, _reshape(block, origin, converter), origin, converter)


def _inner_block(block: Block, origin: Origin, converter: ConverterLimits) -> Block:
    """Return what a ``non_standard`` block holds, unless the converter sends the whole block.

    The file or recording in OpenAI's format becomes a block of LangChain, as langchain-core
    converts it outside of such a block.
    """
    inner = blocks.unwrap(block)
    is_sent = is_sendable(block, origin, converter) and _reshape(inner, origin, converter) is inner
    if inner is block or origin == "own" or is_sent:
        return block
    is_openai = jsontext.is_one_of(inner.get("type"), _OPENAI_FILES)
    return (file_as_block(inner) if is_openai else None) or inner


def _send_block(part: Part, block: Block, origin: Origin, converter: ConverterLimits) -> _Sent:
    """Return the part with this block, or its text if it cannot be sent."""
    if _is_dropped(block, origin, converter):
        return _Sent(None, Effect.DROPS)
    is_item = converter.item_ids and jsontext.is_one_of(block.get("type"), _HOSTED_ITEMS)
    if is_item and missing_keys(block):
        complete = with_required_keys(block)
        return _as_text(block) if complete is None else _Sent(_with_block(part, complete))
    if not is_sendable(block, origin, converter):
        return _convert(part, block, origin, converter)
    if block is part.extra:
        return _Sent(part)
    if isinstance(part, Text) and block.get("text") == part.text:
        return _Sent(Text(part.text, block))
    return _Sent(_with_block(part, block))


def _send_in_standard_format(part: Part, origin: Origin, converter: ConverterLimits) -> _Sent:
    """Return a part of an answer in LangChain's own format in the form in which it is sent."""
    taken, block = converter.standard_takes, part.extra
    if taken is None or not block or not isinstance(part, Opaque | Media):
        return _Sent(part)
    kind, has_data = block.get("type"), bool(block.get("base64"))
    sends_values = converter.foreign_values or origin != "foreign"
    is_link = jsontext.is_one_of(kind, _FILES) and not has_data
    if jsontext.is_one_of(kind, taken) and (sends_values or not is_link):
        return _Sent(part)
    if has_data and "file" in taken:
        return _Sent(Opaque({**block, "type": "file"}))
    if not sends_values:
        return _as_text(block)
    if kind == blocks.WRAPPER:
        return _Sent(part)
    return _Sent(Opaque({"type": blocks.WRAPPER, "value": block}))


def _convert(part: Part, block: Block, origin: Origin, converter: ConverterLimits) -> _Sent:
    """Convert a part whose block cannot be sent: to a block with the same file, else to text."""
    if _is_cache_point(block):
        return _Sent(None)
    if isinstance(part, Thinking):
        return _Sent(None, Effect.DROPS)
    file = _as_sendable_file(block, origin, converter)
    return _as_text(block) if file is None else _Sent(_with_block(part, file))


def _is_cache_point(block: Block) -> bool:
    """Return whether a block is nothing but a cache point, which only Bedrock has."""
    return len(block) == 1 and not blocks.CACHE_POINTS.isdisjoint(block)


def _as_sendable_file(block: Block, origin: Origin, converter: ConverterLimits) -> Block | None:
    """Return a block with the same image or file in a form that the converter sends, if any."""
    forms = [blocks.image_as_url(block), blocks.image_as_source(block)]
    if (file := file_as_block(block)) is not None:
        forms += [file, blocks.file_as_source(file)]
    if converter.files == "link":
        forms.append(blocks.file_as_link(file or block))
    fitting = (one for one in forms if one is not block and is_sendable(one, origin, converter))
    return next(fitting, None)


def _with_block(part: Part, block: Block) -> Part:
    """Return a part with another block; the call of a hosted tool stays a call."""
    return replace(part, native=block) if isinstance(part, ToolCall) else Opaque(block)


def _as_text(block: Block) -> _Sent:
    """Return a block as text."""
    is_text = blocks.find_text(block) is not None
    has_bytes = not is_text and blocks.has_bytes(block)
    effect = Effect.RESHAPES if is_text else Effect.DROPS if has_bytes else Effect.DEGRADES
    text = blocks.convert_to_text(block)
    file = find_attachment(block) if has_bytes else None
    picture = find_picture(block) if has_bytes else None
    if file is not None:
        text["text"] = document_words.replacement(file, _NOT_TAKEN)
        if document_words.content_of_attachment(file) is not None:
            effect = Effect.DEGRADES
    elif picture is not None and picture.payload is not None:
        text["text"] = image_words.removed_text(picture.payload.probe(), _NOT_TAKEN)
    return _Sent(Text(text["text"], text), effect)


def is_block(part: Part) -> bool:
    """Return whether a part is in the content, not reasoning under a key of the message."""
    return not isinstance(part, Thinking) or part.location in ("content", "own")


def _reshape_result(result: ToolResult, origin: Origin, converter: ConverterLimits) -> ToolResult:
    """Return a result block with the keys that the converter needs, and only known ones."""
    block = result.extra
    if not is_sendable(block, origin, converter):
        block = blocks.as_result_block(block) or block
    block = _fill_result(_without_unknown_keys(block, converter), converter)
    return result if block is result.extra else replace(result, native=block)


def _without_unknown_keys(block: Block, converter: ConverterLimits) -> Block:
    """Return a block with only the known keys of its type; blocks of other types unchanged."""
    beginning = f"{block.get('type')} "
    known = {
        key.removeprefix(beginning) for key in converter.block_keys if key.startswith(beginning)
    }
    if not known or known.issuperset(block):
        return block
    return {key: block[key] for key in block if key in known}


def _fill_result(block: Block, converter: ConverterLimits) -> Block:
    """Return a result block with content, if the converter needs it; other blocks unchanged."""
    lacks_content = block.get("type") == "tool_result" and block.get("content") is None
    if converter.results_without_content or not lacks_content:
        return block
    return {**block, "content": ""}


def _reshape(block: Block, origin: Origin, converter: ConverterLimits) -> Block:
    """Return a block with the same content in a form that the converter can send."""
    block = _fill_result(blocks.with_media_type(blocks.from_mcp(block)), converter)
    block = _without_unknown_keys(block, converter)
    kind = block.get("type")
    if blocks.is_data_link(block) and not _sends_data_links(kind, converter):
        block = blocks.inline_data_url(block)
    if kind == "image" and _has_content(block, converter):
        block = _reshape_image(block, origin, converter)
    if converter.files == "source" and kind == "file":
        block = blocks.file_as_source(block)
    is_bare = kind != "input_image" and isinstance(block.get("image_url"), str)
    if is_bare and not converter.bare_urls:
        block = {**block, "image_url": {"url": block["image_url"]}}
    is_foreign_source = converter.sources is not None and isinstance(block.get("source"), dict)
    if is_foreign_source and block.get("type") not in (converter.sources or ()):
        block = blocks.convert_source(block)
    return block


def _sends_data_links(kind: object, converter: ConverterLimits) -> bool:
    """Return whether a link of such a block may be a data URL."""
    return converter.data_links and _sends(f"{kind} url", converter)


def _reshape_image(block: Block, origin: Origin, converter: ConverterLimits) -> Block:
    """Return an image block in the only form that the converter sends, if there is one."""
    if converter.images == "url" or (origin == "result" and converter.result_images == "url"):
        return blocks.image_as_url(block)
    if origin == "result" and converter.result_images == "source":
        return blocks.image_as_source(block)
    return block


def _is_dropped(block: Block, origin: Origin, converter: ConverterLimits) -> bool:
    """Return whether a block is reasoning of another provider, which this one would refuse."""
    kind = block.get("type")
    has_own_id = block.get("id") or block.get("encrypted_content")
    is_foreign = not converter.foreign_reasoning and kind == "reasoning" and not has_own_id
    is_listed = kind == "thinking" and isinstance(block.get("thinking"), list)
    is_foreign = is_foreign or (is_listed and not converter.listed_thinking)
    return is_foreign or (isinstance(kind, str) and kind in converter.dropped_types(origin))


def is_sendable(block: Block, origin: Origin, converter: ConverterLimits) -> bool:
    """Return whether the converter can send a block in a form that the provider accepts."""
    wrote = "user" if origin == "system" else origin
    if "type" not in block:
        author = "answer" if wrote == "foreign" else wrote
        is_refused = origin == "system" and not converter.system_refuses.isdisjoint(block)
        is_typed = author in converter.typed or is_refused
        return not is_typed and _is_native(block, converter, most=1)
    kind, value = block["type"], blocks.unwrap(block)
    if value is not block and wrote in converter.unwraps:
        return (
            is_sendable(value, origin, converter)
            if converter.native_keys is None
            else _is_native(value, converter, most=len(value))
        )
    if not isinstance(kind, str) or kind in converter.refused_types(origin):
        return False
    if not _has_content(block, converter) or _has_foreign_id(block, origin, converter):
        return False
    if not converter.has_required_keys(kind, map(str, block)):
        return False
    accepted = converter.accepted_types(origin)
    return accepted is None or kind in accepted


def _is_native(block: Block, converter: ConverterLimits, *, most: int) -> bool:
    """Return whether a block without a type is in the provider's own format.

    ``most``: how many keys it may have.
    """
    keys = converter.native_keys
    return keys is None or (0 < len(block) <= most and keys.issuperset(block))


def _has_foreign_id(block: Block, origin: Origin, converter: ConverterLimits) -> bool:
    """Return whether a block is of a hosted tool that another provider ran."""
    beginning = converter.foreign_ids
    if not beginning or origin == "own":
        return False
    ids = (block.get("id"), block.get("tool_use_id"))
    return any(isinstance(one, str) and one.startswith(beginning) for one in ids)


def _has_content(block: Block, converter: ConverterLimits) -> bool:
    """Return whether a text, image or file has content in a form that the converter can send."""
    kind = block["type"]
    if kind == "text":
        return isinstance(block.get("text"), str)
    native_keys = converter.native_keys or ()
    if kind == "document":
        is_bedrock = isinstance(block.get(kind), dict)  # not a document of Anthropic
        return is_bedrock if kind in native_keys else not is_bedrock
    if kind not in _FILES:
        return True
    if kind in native_keys and isinstance(block.get(kind), dict):
        return True  # the provider's own format, with a type
    form = blocks.find_form(block)
    if kind == "image" and "source" in block and form == "own":
        is_source_known = converter.sources is None or "image" in converter.sources
        return is_source_known and _is_complete_source(block["source"], converter)
    return form == "own" or (bool(form) and _sends(f"{kind} {form}", converter))


def _sends(form: str, converter: ConverterLimits) -> bool:
    return converter.forms is None or form in converter.forms


def _is_complete_source(source: object, converter: ConverterLimits) -> bool:
    """Return whether the source of an image contains the image or a link to it."""
    if not isinstance(source, dict):
        return False
    kind = source.get("type")
    if kind == "file":
        return _sends("image id", converter) and isinstance(source.get("file_id"), str)
    if kind == "url":
        return _sends("image url", converter) and isinstance(source.get("url"), str)
    return isinstance(source.get("data"), str | bytes)


def _without_useless(
    parts: tuple[Part, ...], converter: ConverterLimits
) -> tuple[tuple[Part, ...], Effect]:
    """Return the parts of an answer without those that the converter loses or cannot end with."""
    effect = Effect.RESHAPES
    if not converter.blank_texts:
        parts = _without_blank_texts(parts)
    if converter.trailing_reasoning or any(isinstance(part, ToolCall) for part in parts):
        return parts, effect
    end = len(parts)
    while end and _is_item_of_reasoning(parts[end - 1].extra):
        end, effect = end - 1, Effect.DROPS
    return parts[:end], effect


def _is_item_of_reasoning(block: Block) -> bool:
    return block.get("type") == "reasoning" and bool(block.get("id"))


def _without_blank_texts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Drop blank texts directly after thinking, which the converter would drop silently."""
    out: list[Part] = []
    for part in parts:
        is_blank = isinstance(part, Text) and not part.text.strip()
        if not (is_blank and out and out[-1].extra.get("type") == "thinking"):
            out.append(part)
    return tuple(out)


def _judge(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of blocks with a file.

    It finds a missing file, a link that holds the file, and an image that is an item.
    """
    return None if limits.of(LIMIT) is None else _class_of_file


def _class_of_file(block: Block) -> object:
    if blocks.is_generated_image(block):
        return "generated"
    return blocks.is_data_link(block) or (
        jsontext.is_one_of(block.get("type"), _FILES) and not blocks.find_form(block)
    )


def _judge_id(limits: Limits, traits: Traits) -> Judge | None:
    """Make the judge of ids: whether one is of a hosted tool that another provider ran."""
    converter: ConverterLimits | None = limits.of(LIMIT)
    beginning = "" if converter is None else converter.foreign_ids
    return (lambda call_id: call_id.startswith(beginning)) if beginning else None


_JUDGES: Mapping[str, Callable[[Limits, Traits], Judge | None]] = {
    "parts": KeyedJudge(ATTACHMENT_KEYS, _judge),
    "ids": _judge_id,
}
RULE = Rule("PART002", "unsendable-part", find, _JUDGES, own_limits={LIMIT: ConverterLimits})
MOVED = Rule("PART002", "unsendable-part", find_moved, _JUDGES)
