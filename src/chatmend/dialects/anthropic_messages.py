"""Anthropic Messages: blocks all the way; a tool result is a block inside a user message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import (
    read_content,
    read_part,
    same_or,
    under_parts,
    write_content,
    write_part,
)
from chatmend.dialects.roles import role_of
from chatmend.dialects.traits import Traits, expect, filled, kind_of, remember, with_system
from chatmend.transcript import Message, Opaque, Role, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from chatmend.sketch import Sketch
    from chatmend.transcript import Native, Part

NAME = "anthropic_messages"
TRAITS = Traits(
    system_beside=True,
    results_inside=True,
    object_arguments=True,
    types_by_role=True,
    image_shapes=("source",),
    cache_markers=True,
)
__all__ = [
    "NAME",
    "TRAITS",
    "expect",
    "filled",
    "key",
    "kind_of",
    "read",
    "remember",
    "sketch",
    "speaks",
    "translated",
    "with_system",
    "write",
]  # fmt: skip


def speaks(native: dict[str, object]) -> bool:
    """Whether a message holds blocks that only this dialect has."""
    content = native.get("content")
    if not isinstance(content, list):
        return False
    blocks = [block for block in content if isinstance(block, dict)]
    return any(
        (isinstance(block.get("type"), str) and block["type"] in ("tool_use", "tool_result", "redacted_thinking"))
        or isinstance(block.get("source"), dict)
        for block in blocks
    )


_ROLE_AND_CONTENT = 2


def key() -> str:
    """What was learnt of one chat holds for all."""
    return NAME


def sketch(native: Native, look: Sketch) -> object:
    """What messages of the usual blocks share; None: another form."""
    if native.__class__ is not dict or len(native) != _ROLE_AND_CONTENT:
        return None
    role, content = native.get("role"), native.get("content")
    if role.__class__ is not str or content.__class__ is not list:
        return None
    form: list[object] = [role]
    for block in content:
        if block.__class__ is not dict or not _is_usual(block, look):
            return None
        form.append(block["type"])
    return tuple(form)


def _is_usual(block: dict[str, Any], look: Sketch) -> bool:
    """Whether a block has the keys that its type needs, no others, and values like most."""
    kind, size = block.get("type"), len(block)
    if kind == "text":
        return size == 2 and look.is_text(block.get("text"))  # noqa: PLR2004 - the type and what belongs to it
    if kind == "tool_use":
        named = size == 4 and look.is_id(block.get("id")) and look.is_name(block.get("name"))  # noqa: PLR2004
        return named and look.is_object(block.get("input"))
    if size != 3:  # noqa: PLR2004
        return False
    if kind == "tool_result":
        return look.is_id(block.get("tool_use_id")) and look.is_text(block.get("content"))
    return kind == "thinking" and look.is_text(block.get("thinking")) and look.is_proof(block.get("signature"))


def read(native: Native) -> Message:
    """Read one message. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    return Message(_role_of(native), read_content(native.get("content"), _read_block), native, native.get("role"))


def _role_of(native: dict[str, Any]) -> Role:
    """As the message spells it; but one that opens with a result, and calls nothing, is not the assistant's."""
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
        return ToolResult(native.get("tool_use_id"), read_content(native.get("content")), native=native)
    return read_part(native)


def translated(message: Message) -> tuple[Message, ...]:
    """What a message says that has its words under ``parts``."""
    return under_parts(message, _read_block)


def write(message: Message) -> Native:
    """Write one message: its native object itself when nothing in it changed."""
    return same_or(_written(message), message, read)


def _written(message: Message) -> dict[str, object]:
    native = message.native
    base = {k: v for k, v in native.items() if k not in message.without} if isinstance(native, dict) else {}
    role: object = Role.USER if message.role is Role.TOOL else message.role
    if message.spelling not in (None, message.role):
        role = message.spelling
    out = {"role": str(role) if isinstance(role, Role) else role}
    out |= {key: value for key, value in base.items() if key != "role"}
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
        rest = {k: v for k, v in native.items() if k not in ("type", "id", "name", "input", "function")}
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments, **rest}
    if isinstance(part, ToolResult):
        native = part.native if isinstance(part.native, dict) and part.native.get("type") == "tool_result" else {}
        content = write_content(part.content, native.get("content"))
        if native and native.get("tool_use_id") == part.call_id and content is native.get("content"):
            return native
        rest = {k: v for k, v in native.items() if k not in ("type", "tool_use_id", "content")}
        out = {"type": "tool_result", "tool_use_id": part.call_id, **rest}
        return out if content is None else {**out, "content": content}
    return write_part(part)
