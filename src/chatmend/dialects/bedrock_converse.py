"""Bedrock's Converse API: content is a list of blocks, each an object under the key of its kind.

Tool results are blocks of user messages. The fields are those of botocore 1.44.5,
``bedrock-runtime``, ``ContentBlock``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.dialects import anthropic_messages, foreign
from chatmend.dialects.content import keys_with_role, read_content, read_part
from chatmend.dialects.formats import KEYS
from chatmend.dialects.roles import ALIASES, role_of
from chatmend.dialects.traits import Traits, set_limits, sketch
from chatmend.transcript import (
    Media,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmend.transcript import Native, Part
    from chatmend.windows import Memory

NAME = "bedrock_converse"
TRAITS = Traits(
    tools_keys=("toolConfig.tools",),
    tool_form="toolSpec",
    thinking_keys=(
        "additionalModelRequestFields.thinking",
        "additionalModelRequestFields.reasoning_config",
    ),
    has_top_level_system=True,
    results_are_parts=True,
    joins_results=True,
    one_kind_blocks=True,
    object_arguments=True,
    types_by_role=True,
    # The members of ToolResultContentBlock in botocore
    result_types=frozenset({"json", "text", "image", "document", "video", "searchResult"}),
    result_only_types=frozenset({"json"}),
    image_shapes=("bedrock",),
    object_keys=(
        ("toolUse", frozenset({"toolUseId", "name", "input", "type"})),
        ("toolResult", frozenset({"toolUseId", "content", "status", "type"})),
        ("image", frozenset({"format", "source", "error"})),
        ("document", frozenset({"format", "name", "source", "context", "citations"})),
        ("video", frozenset({"format", "source"})),
        ("reasoningContent", frozenset({"reasoningText", "redactedContent"})),
        ("cachePoint", frozenset({"type", "ttl"})),
    ),
)
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "fill_content",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "translate_foreign",
    "with_system",
    "write",
]
_BLOCKS = KEYS[NAME] | {"json"}
_TEXT_BLOCKS = frozenset({"text"})
_MEDIA = {"image": "image", "document": "document", "video": "video", "audio": "audio"}
_SERVER_TOOL = "server_tool_use"
_TEXT_KEYS = frozenset({"text", "signature"})
"""The keys of a ``reasoningText``."""


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


def kind_of(native: object) -> str | None:
    """Return the kind of a block: its only key among those that the API defines.

    None if the API cannot read the block.
    """
    if not isinstance(native, dict):
        return None
    keys = [key for key in native if key.__class__ is str and key in _BLOCKS]
    if len(keys) != 1:
        return None
    (key,) = keys
    value = native[key]
    if key in _TEXT_BLOCKS:
        return key if isinstance(value, str) else None
    if not isinstance(value, dict):
        return None
    if key == "reasoningContent":
        return key if _has_reasoning(value) else None
    return key if key not in _MEDIA or isinstance(value.get("source"), dict) else None


def _has_reasoning(value: dict[str, object]) -> bool:
    held = value.get("reasoningText")
    if isinstance(held, dict):
        return isinstance(held.get("text"), str)
    return isinstance(value.get("redactedContent"), str | bytes)


def read(native: Native) -> Message:
    """Read one message. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    if _is_foreign(native):
        message = foreign.read(native)
        return message.with_parts(tuple(part for part in message.parts if not _is_blank(part)))
    parts = _with_hosted_pairs(read_content(native.get("content"), _read_block))
    role = role_of(native)
    results = [part for part in parts if isinstance(part, ToolResult)]
    if role is Role.ASSISTANT and results and len(results) == len(parts):
        role = role if any(result.is_hosted for result in results) else Role.USER
    return Message(role, parts, native, native.get("role"))


def _with_hosted_pairs(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts with calls of Nova's system tools, and their results, as opaque blocks.

    The model runs these tools itself and returns both in one message, so no rule pairs them.
    """
    hosted = [part for part in parts if isinstance(part, ToolCall | ToolResult) and part.is_hosted]
    if not hosted:
        return parts
    calls = [part.id for part in hosted if isinstance(part, ToolCall)]
    answered = [part.call_id for part in hosted if isinstance(part, ToolResult)]

    def is_paired(part: Part) -> bool:
        if isinstance(part, ToolCall):
            return part.is_hosted and part.id in answered
        return isinstance(part, ToolResult) and part.is_hosted and part.call_id in calls

    return tuple(Opaque(part.native) if is_paired(part) else part for part in parts)


def _is_foreign(native: dict[str, object]) -> bool:
    """Return whether a message is of another dialect: a chat message, or typed blocks."""
    content = native.get("content")
    if isinstance(content, list) and any(map(kind_of, content)):
        return any(map(_is_typed_block, content))
    return isinstance(content, str) or foreign.is_chat(native) or foreign.has_blocks(native)


def _is_typed_block(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")


def _read_block(native: Native) -> Part:
    if isinstance(native, str):
        return Text(native, native)
    if not isinstance(native, dict):
        return Opaque(native)
    kind = kind_of(native)
    if kind is None:
        return _read_malformed(native)
    value = native[kind]
    if kind == "text":
        return Text(str(value), native)
    return _read_object(native, kind, value) if isinstance(value, dict) else Opaque(native)


def _read_object(native: dict[str, object], kind: str, value: dict[str, object]) -> Part:
    match kind:
        case "toolUse":
            hosted = _SERVER_TOOL if value.get("type") == _SERVER_TOOL else "function"
            call_id, name, arguments = map(value.get, ("toolUseId", "name", "input"))
            return ToolCall(call_id, name, arguments, native=native, kind=hosted)
        case "toolResult":
            return _read_result(native, value)
        case "reasoningContent":
            return _read_reasoning(native, value)
    return Media(native, _MEDIA[kind]) if kind in _MEDIA else Opaque(native)


def _read_malformed(native: dict[str, object]) -> Part:
    """Read a block that the API refuses.

    This is a block of another dialect, one whose ``json`` is not an object, or reasoning without a
    text.
    """
    if len(native) == 1 and "json" in native:
        return Text(jsontext.dumps(native["json"]), native)
    if (signed := _textless_reasoning(native)) is not None:
        return Thinking("", _signature_of(signed), native=native)
    found = read_part(native)
    return found if isinstance(found, Media | Thinking) else Opaque(native)


def _read_inner_block(native: Native) -> Part:
    """Read a block of a tool result; calls and results are allowed only in messages."""
    part = _read_block(native)
    return Opaque(native) if isinstance(part, ToolCall | ToolResult) else part


def _read_result(native: dict[str, object], value: dict[str, object]) -> Part:
    content = read_content(value.get("content"), _read_inner_block)
    # The result of a hosted tool has a type of its own, such as ``nova_grounding_result``.
    kind = _SERVER_TOOL if isinstance(value.get("type"), str) else "function"
    return ToolResult(value.get("toolUseId"), content, native=native, kind=kind)


def _read_reasoning(native: dict[str, object], value: dict[str, object]) -> Part:
    held, redacted = value.get("reasoningText"), value.get("redactedContent")
    if isinstance(held, dict) and isinstance(held.get("text"), str):
        return Thinking(str(held["text"]), _signature_of(held), native=native)
    if isinstance(redacted, str | bytes):
        data = redacted if isinstance(redacted, str) else None
        return Thinking("", data or "redacted", redacted=True, native=native)
    return Opaque(native)


def _signature_of(held: dict[str, object]) -> str | None:
    """Return the signature in a ``reasoningText``; empty if it is malformed."""
    signature = held.get("signature")
    malformed = "" if "signature" in held else None
    return signature if isinstance(signature, str) else malformed


def _textless_reasoning(native: dict[str, object]) -> dict[str, object] | None:
    """Return the ``reasoningText`` of a block of reasoning whose text is null or missing."""
    value = native.get("reasoningContent") if len(native) == 1 else None
    held = value.get("reasoningText") if isinstance(value, dict) and len(value) == 1 else None
    return held if isinstance(held, dict) and held.get("text") is None else None


def write(message: Message) -> Native:
    """Write one message; an unchanged message returns its native object."""
    return foreign.write_if_changed(message, read, _build_native)


def _build_native(message: Message) -> dict[str, object]:
    out = keys_with_role(message)
    out["content"] = _write_blocks(message.parts, out.get("content"))
    return out


def _write_blocks(parts: tuple[Part, ...], old: object) -> list[Native]:
    """Write parts as a list of blocks; the same list if it has only these blocks."""
    blocks = [_write_block(part) for part in parts]
    return old if isinstance(old, list) and is_unchanged(old, blocks) else blocks


def _write_block(part: Part) -> Native:
    native = part.native if isinstance(part.native, dict) else {}
    match part:
        case ToolCall():
            return _write_call(part, native)
        case ToolResult():
            return _write_result(part, native)
        case Text(text):
            same = kind_of(native) == "text" and native["text"] == text
            return native if same else {"text": text}
        case Thinking() if native:
            return native
        case Thinking(text, signature):
            signed = {"signature": signature} if signature else {}
            return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
        case _:
            return part.native


def _write_call(call: ToolCall, native: dict[str, object]) -> Native:
    held = native.get("toolUse") if kind_of(native) == "toolUse" else None
    inner = held if isinstance(held, dict) else {}
    same = (inner.get("toolUseId"), inner.get("name")) == (call.id, call.name)
    if inner and same and inner.get("input") is call.arguments:
        return native
    rest = {k: v for k, v in inner.items() if k not in ("toolUseId", "name", "input")}
    named = {"toolUseId": call.id, "name": call.name, "input": call.arguments}
    return {"toolUse": {**named, **rest}}


def _write_result(result: ToolResult, native: dict[str, object]) -> Native:
    held = native.get("toolResult") if kind_of(native) == "toolResult" else None
    inner = held if isinstance(held, dict) else {}
    content = _write_blocks(result.content, inner.get("content"))
    same = inner.get("toolUseId") == result.call_id and content is inner.get("content")
    if inner and same:
        return native
    rest = {k: v for k, v in inner.items() if k not in ("toolUseId", "content")}
    return {"toolResult": {"toolUseId": result.call_id, "content": content, **rest}}


def remember(natives: Sequence[Native], memory: Memory) -> None:
    """Record the names of the documents that were sent."""
    for native in natives:
        for block in _blocks(native):
            document = block.get("document")
            if isinstance(document, dict) and isinstance(document.get("name"), str):
                memory.item_ids.add(document["name"])


def _blocks(native: object, key: str = "content") -> Iterator[dict[str, object]]:
    """Yield the blocks of a message, and those in its tool results."""
    content = native.get(key) if isinstance(native, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block
            yield from _blocks(block.get("toolResult"))


def fill_content(native: dict[str, object]) -> dict[str, object] | None:
    """Return the message with an empty list of blocks if content is null or missing; else None."""
    missing = native.get("content") is None and not _is_foreign(native)
    return {**native, "content": []} if missing else None


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Convert a chat message or a message of Anthropic's blocks; else empty.

    Within a message of this dialect, what the API refuses is converted: a tool result whose content
    is a text, for example.
    """
    native = message.native
    if not isinstance(native, dict):
        return ()
    if not _is_foreign(native):
        parts = tuple(map(_with_blocks, message.parts))
        return () if is_unchanged(message.parts, parts) else (message.with_parts(parts),)
    message = message.with_words_as_content()
    role = Role.USER if message.role is Role.TOOL else message.role
    spelling = native.get("role")
    named = isinstance(spelling, str) and spelling not in ALIASES
    return (
        replace(
            message,
            role=role,
            parts=tuple(_with_blocks(_adopt_part(part)) for part in message.parts),
            native=foreign.other_keys(message),
            native_role=spelling if named else None,
        ),
    )


def _with_blocks(part: Part) -> Part:
    """Return a part of this dialect with the parts that the API refuses in it converted.

    These are texts in the content of a tool result, another type of a call, a status or type that
    is null, and reasoning with unknown keys or without a text.
    """
    if isinstance(part, ToolCall):
        return part if part.kind == _SERVER_TOOL else _without_keys(part, "toolUse", {"type"})
    if isinstance(part, Thinking):
        unknown = _inner(part, "reasoningContent", "reasoningText").keys() - _TEXT_KEYS
        is_malformed = unknown or _textless_reasoning(part.extra) is not None
        return replace(part, native=None) if is_malformed else part
    if not isinstance(part, ToolResult):
        return part
    held = _inner(part, "toolResult")
    nulls = {key for key in ("status", "type") if held.get(key, "") is None}
    part = _without_keys(part, "toolResult", nulls)
    if single := _inner(part, "toolResult", "content"):  # a block instead of a list of blocks
        return replace(part, content=(_read_inner_block(single),))
    content = tuple(map(_as_block, part.content))
    return part if is_unchanged(part.content, content) else replace(part, content=content)


def _without_keys(part: foreign.CallOrResult, kind: str, removed: set[str]) -> foreign.CallOrResult:
    """Return a call or result without some of its keys; the same object if it has none of them."""
    held = _inner(part, kind)
    if removed.isdisjoint(held):
        return part
    kept = {key: value for key, value in held.items() if key not in removed}
    return replace(part, native={**part.extra, kind: kept})


def _inner(part: Part, *keys: str) -> dict[str, object]:
    """Return the object under nested keys of a part; empty if there is none."""
    held: object = part.extra
    for key in keys:
        held = held.get(key) if isinstance(held, dict) else None
    return held if isinstance(held, dict) else {}


def _as_block(part: Part) -> Part:
    if isinstance(part, Text) and part.raw_string is not None:
        return Text(part.text)
    return Text(part.as_json) if isinstance(part, Opaque) and not part.extra else part


def _is_blank(part: Part) -> bool:
    """Return whether this is thinking without a text, as under an empty ``reasoning_content``."""
    return isinstance(part, Thinking) and not part.text and not part.signature


def _adopt_part(part: Part) -> Part:
    if isinstance(part, Opaque):
        if not _is_typed_block(part.native):
            return _read_block(part.native)
        (part,) = anthropic_messages.read({"content": [part.native]}).parts
    if isinstance(part, ToolCall):
        return replace(foreign.with_flat_fields(part), native=None, legacy=False)
    if isinstance(part, ToolResult):
        content = tuple(Text(p.text) if isinstance(p, Text) else p for p in part.content)
        return replace(part, native=None, legacy=False, name=None, content=content)
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, Thinking):
        return replace(part, location="content", native=None)
    return part


def with_system(system: object, texts: list[str | dict[str, Any]]) -> object:
    """Return the list of system blocks with ``texts`` appended, each as a block."""
    listed = system if isinstance(system, list) else []
    own = [{"text": system}] if isinstance(system, str) and system else []
    return [*listed, *own, *({"text": one} if isinstance(one, str) else one for one in texts)]
