"""Anthropic Messages: blocks all the way; a tool result is a block inside a user message."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import (
    read_content,
    read_part,
    same_or,
    server_call,
    server_result,
    under_parts,
    write_content,
    write_part,
)
from chatmend.dialects.image_scan import image_holders
from chatmend.dialects.openai_scan import call_scanner, trailing_scanner
from chatmend.dialects.part_scan import part_scanner
from chatmend.dialects.roles import role_of
from chatmend.dialects.thinking_scan import is_thinking
from chatmend.dialects.traits import Traits, filled, kind_of, remember, renamed, with_system
from chatmend.jsontext import is_sound, is_sound_value, is_too_deep
from chatmend.transcript import Message, Opaque, Role, Text, ToolCall, ToolResult
from chatmend.windows import Memory, Symptom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.dialects import Scan
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Native, Part

NAME = "anthropic_messages"
_BLOCKS = frozenset({"text", "image", "document", "thinking", "redacted_thinking"})
_MISPLACED = Symptom.PAIRING | Symptom.CALLS
"""A call in a message that is not the model's."""
"""Blocks that stand in a message on their own, where a target has no list of its own."""
TRAITS = Traits(
    system_beside=True,
    results_inside=True,
    object_arguments=True,
    types_by_role=True,
    image_shapes=("source",),
    cache_markers=True,
)
__all__ = [
    "NAME", "TRAITS", "filled", "kind_of", "read", "remember", "renamed", "scanner", "speaks",
    "translated", "with_system", "write",
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


@lru_cache(maxsize=64)
def scanner(limits: Limits) -> Scan:
    """A scan for windows under these limits."""
    message_symptoms = _message_scanner(limits)
    unique = limits.unique_call_ids
    anywhere, trailing = limits.system == "anywhere", trailing_scanner(limits)

    def scan(natives: Sequence[Any], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        mask, followed, run, at = 0, False, 0, start
        ids: list[str] = []
        answered: list[str] = []
        while at < len(natives):
            native = natives[at]
            role = native.get("role") if isinstance(native, dict) else None
            if role == "assistant" and _opens_with_result(native) and _role_of(native) is Role.USER:
                role = ""
            if role not in ("user", "assistant"):
                mask |= Symptom.ROLE | Symptom.SYSTEM | Symptom.KEYS | Symptom.PAIRING
                if not isinstance(native, dict):
                    mask |= Symptom.UNREADABLE
                if role == "system" and anywhere:
                    mask &= ~Symptom.SYSTEM
                role = str(_role_of(native)) if isinstance(native, dict) else "user"
            if role == "assistant":
                if followed or (start == 0 and at > 0 and not run):
                    break
                run += 1
            else:
                followed = True
                memory.has_user |= role == "user"
            if isinstance(native, dict):
                mask |= message_symptoms(native, ids if role == "assistant" else None, answered, late=bool(followed))
            at += 1
        if ids != answered[: len(ids)] or len(answered) != len(ids) or (not followed and ids):
            mask |= Symptom.PAIRING
        if not followed:
            mask |= trailing(natives[at - 1])
        if run > 1 or at - start - run > 1:
            mask |= Symptom.TURNS | (Symptom.PAIRING if answered else 0)
        if unique != "no" and ids:
            fresh = set(ids)
            if len(fresh) != len(ids) or (unique == "request" and not memory.call_ids.isdisjoint(fresh)):
                mask |= Symptom.IDS
        return at, mask, ids

    return scan


def _scan_own(block: dict[str, Any]) -> int:
    """The symptoms of a call or a result beside those of the exchange."""
    mask = Symptom.MARKERS if "cache_control" in block else 0
    return mask if is_sound_value(block) else mask | Symptom.SURROGATE


def _message_scanner(limits: Limits) -> Any:  # noqa: ANN401 - a closure
    scan_parts, scan_calls = part_scanner(limits, limits.block_types or _BLOCKS), call_scanner(limits)
    scan_told = part_scanner(limits, limits.block_types or _BLOCKS, told=True)
    holders, takes_trailing = image_holders(limits), limits.trailing_thinking

    def scan_message(native: dict[str, Any], ids: list[str] | None, answered: list[str], *, late: bool) -> int:
        content = native.get("content")
        mask = 0 if len(native) == 2 and "content" in native else Symptom.KEYS | Symptom.SURROGATE | Symptom.LEGACY  # noqa: PLR2004
        mask |= Symptom.MARKERS if mask and "cache_control" in native else 0
        if content.__class__ is str:
            if not content or content.isspace():
                mask |= Symptom.EMPTY
            return mask if is_sound(content) else mask | Symptom.SURROGATE
        if content.__class__ is not list:
            return mask | Symptom.UNREADABLE | Symptom.CONTENT | Symptom.EMPTY
        rest, results_over, called = [], False, False
        for block in content:
            kind = block.get("type") if block.__class__ is dict else None
            if kind == "tool_use":
                call = {
                    "id": block.get("id"),
                    "type": "function",
                    "function": {"name": block.get("name"), "arguments": "{}"},
                }
                mask |= scan_calls([call], ids if ids is not None else []) | (0 if ids is not None else _MISPLACED)
                if block.get("input").__class__ is not dict or is_too_deep(block["input"]):
                    mask |= Symptom.ARGUMENTS
                mask |= Symptom.CALLS if called and limits.single_call else 0
                called = True
                mask |= _scan_own(block)
            elif kind == "tool_result":
                call_id, inner = block.get("tool_use_id"), block.get("content")
                if results_over or not late or call_id.__class__ is not str:
                    mask |= Symptom.PAIRING
                else:
                    answered.append(call_id)
                if inner.__class__ is list:
                    inside = scan_told(inner)
                    if inside & Symptom.MEDIA and "tool" in holders and not block.get("is_error"):
                        inside ^= Symptom.MEDIA
                    mask |= inside
                elif inner is None:
                    mask |= Symptom.CONTENT if "content" in block else 0
                elif inner.__class__ is not str:
                    mask |= Symptom.UNREADABLE
                mask |= _scan_own(block)
            else:
                results_over = True
                rest.append(block)
                if server_call(block) is not None or server_result(block) is not None:
                    mask |= Symptom.HOSTED
                if called:
                    mask |= Symptom.CALLS
        if rest or not content:
            beside = scan_parts(rest)
            if beside & Symptom.MEDIA and str(native.get("role")) in holders:
                beside ^= Symptom.MEDIA
            mask |= beside
        if mask & Symptom.SIGNED:
            odd = ids is None or mask & Symptom.KEYS  # said by somebody else, or perhaps by another provider's model
            mask |= Symptom.THINKING if odd or (not takes_trailing and is_thinking(content[-1])) else 0
        return mask

    return scan_message
