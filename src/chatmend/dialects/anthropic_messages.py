"""Anthropic Messages: content is a list of blocks; tool results are blocks of user messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import (
    keys_with_role,
    original_if_same,
    read_content,
    read_part,
    read_parts_key,
    write_content,
    write_part,
)
from chatmend.dialects.formats import BLOCK_KEYS, KEYS_WITHOUT_NULL, REQUIRED_KEYS
from chatmend.dialects.roles import role_of
from chatmend.dialects.traits import (
    Traits,
    fill_content,
    kind_of,
    remember,
    set_limits,
    with_system,
)
from chatmend.transcript import Message, Opaque, Role, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from chatmend.sketch import Sketch
    from chatmend.transcript import Native, Part

NAME = "anthropic_messages"
TRAITS = Traits(
    tool_form="input_schema",
    has_top_level_system=True,
    marks_errors=True,
    results_are_parts=True,
    object_arguments=True,
    types_by_role=True,
    # The content of ToolResultBlockParam in the SDK of Anthropic
    result_types=frozenset(
        {"text", "image", "search_result", "document", "tool_reference", "browser_state"}
    ),
    result_only_types=frozenset({"tool_reference"}),
    image_shapes=("source",),
    keys_by_type=BLOCK_KEYS,
    keys_without_null=KEYS_WITHOUT_NULL,
    required_keys=REQUIRED_KEYS,
    cache_markers=True,
    # Only {"type": "continue"} names a message (BetaThreadContinueParams in the SDK of Anthropic).
    stored_keys=("thread.previous_message_id",),
    stores_tools=True,
)
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "fill_content",
    "has_own_blocks",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "translate_foreign",
    "with_system",
    "write",
]  # fmt: skip


def has_own_blocks(native: dict[str, object]) -> bool:
    """Return whether a message holds blocks that only this dialect has."""
    content = native.get("content")
    if not isinstance(content, list):
        return False
    blocks = [block for block in content if isinstance(block, dict)]
    return any(
        (
            isinstance(block.get("type"), str)
            and block["type"] in ("tool_use", "tool_result", "redacted_thinking")
        )
        or isinstance(block.get("source"), dict)
        for block in blocks
    )


_ROLE_AND_CONTENT = 2


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


def sketch(native: Native, checker: Sketch) -> object:
    """Return the role and block types of a message of common blocks; None for any other."""
    if native.__class__ is not dict or len(native) != _ROLE_AND_CONTENT:
        return None
    role, content = native.get("role"), native.get("content")
    if role.__class__ is not str or content.__class__ is not list:
        return None
    form: list[object] = [role]
    for block in content:
        if block.__class__ is not dict or not _is_usual(block, checker):
            return None
        form.append(block["type"])
    return tuple(form)


def _is_usual(block: dict[str, Any], checker: Sketch) -> bool:
    """Return whether a block has exactly the keys of its type, with ordinary values."""
    kind, size = block.get("type"), len(block)
    if kind == "text":
        return size == 2 and checker.is_text(block.get("text"))  # noqa: PLR2004 - type and text
    if kind == "tool_use":
        named = (
            size == 4  # noqa: PLR2004
            and checker.is_id(block.get("id"))
            and checker.is_name(block.get("name"))
        )
        return named and checker.is_object(block.get("input"))
    if kind == "tool_result":
        return (
            size == 3  # noqa: PLR2004
            and checker.is_id(block.get("tool_use_id"))
            and checker.is_text(block.get("content"))
        )
    return checker.is_thinking(block)


def read(native: Native) -> Message:
    """Read one message. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    return Message(
        _role_of(native),
        read_content(native.get("content"), _read_block),
        native,
        native.get("role"),
    )


def _role_of(native: dict[str, Any]) -> Role:
    """Return the role of a message.

    A message that begins with a result and has no calls is not the assistant's.
    """
    role = role_of(native)
    if role is not Role.ASSISTANT or not _opens_with_result(native):
        return role
    blocks = native["content"]
    calls = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)
    return role if calls else Role.USER


def _opens_with_result(native: dict[str, Any]) -> bool:
    content = native.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and first.get("type") == "tool_result"


def _read_block(native: Native) -> Part:
    kind = native.get("type") if isinstance(native, dict) else None
    if not isinstance(native, dict) or not isinstance(kind, str):
        return read_part(native)
    if kind == "tool_use":
        return ToolCall(native.get("id"), native.get("name"), native.get("input"), native=native)
    if kind == "tool_result":
        return ToolResult(
            native.get("tool_use_id"), read_content(native.get("content")), native=native
        )
    return read_part(native)


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Move content under ``parts``, Gemini's key, to ``content``; empty if there is none."""
    return read_parts_key(message, _read_block)


def write(message: Message) -> Native:
    """Write one message; an unchanged message returns its native object."""
    return original_if_same(_build_native(message), message, read)


def _build_native(message: Message) -> dict[str, object]:
    out = keys_with_role(message)
    out["content"] = write_content(message.parts, out.get("content"), _write_block)
    return out


def _write_block(part: Part) -> Native:
    if isinstance(part, ToolCall):
        native = part.native if isinstance(part.native, dict) else {}
        if (
            native
            and (native.get("id"), native.get("name")) == (part.id, part.name)
            and native.get("input") is part.arguments
        ):
            return native
        rest = {
            k: v for k, v in native.items() if k not in ("type", "id", "name", "input", "function")
        }
        return {
            "type": "tool_use",
            "id": part.id,
            "name": part.name,
            "input": part.arguments,
            **rest,
        }
    if isinstance(part, ToolResult):
        native = (
            part.native
            if isinstance(part.native, dict) and part.native.get("type") == "tool_result"
            else {}
        )
        content = write_content(part.content, native.get("content"))
        if (
            native
            and native.get("tool_use_id") == part.call_id
            and content is native.get("content")
        ):
            return native
        rest = {k: v for k, v in native.items() if k not in ("type", "tool_use_id", "content")}
        out = {"type": "tool_result", "tool_use_id": part.call_id, **rest}
        return out if content is None else {**out, "content": content}
    return write_part(part)
