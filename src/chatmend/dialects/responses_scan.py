"""The scan of a window of Responses items: what is plainly clean is passed, anything else every rule looks at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import TEXTS
from chatmend.dialects.image_scan import image_check
from chatmend.jsontext import is_sound, is_sound_json, is_sound_value
from chatmend.windows import Symptom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.dialects import Scan
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory

    Read = Callable[[Any], Message]

DIRTY = ~0
"""Every symptom: all rules look."""
PREFIXES = {
    "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "message": "msg", "web_search_call": "ws",
    "file_search_call": "fs", "code_interpreter_call": "ci", "mcp_call": "mcp", "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr", "computer_call": "cu",
}  # fmt: skip
"""How the id of an entry begins, where it is known."""
LONGEST_ID = 64
SHAPES = ("input",)
"""How an image stands in a part: see ``pictures.Picture``."""
_MESSAGE = frozenset({"role", "content", "type", "id", "status", "phase"})
_CALL = frozenset({"type", "call_id", "name", "arguments", "id", "status"})
_OUTPUT = frozenset({"type", "call_id", "output", "id", "status"})
_STATUSES = ("in_progress", "completed", "incomplete")
_BESIDE = ("id", "status", "phase")
_SIDES = {"function_call": "assistant", "reasoning": "assistant", "function_call_output": "tool"}
"""Whose an entry is, by its type."""
_REASONING = frozenset({"type", "id", "summary", "content", "encrypted_content", "status"})


def items_scanner(limits: Limits, read: Read) -> Scan:
    """A scan for windows under these limits; ``read`` says whose an unusual item is."""
    scan_message, is_clean_call = _message_scanner(limits), _call_check(limits)
    pairing, ordered = limits.pairing, limits.results_in_order
    calls_last, unique = limits.calls_last, limits.unique_call_ids == "request"
    instructs, trailing = limits.system == "anywhere", limits.trailing_assistant == "accepted"

    def scan(natives: Sequence[Any], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        at, mask, followed, rest, last, thought = start, 0, False, False, "", False
        ids: list[str] = []
        answered: list[str] = []
        named: list[dict[str, Any]] = []
        waiting: dict[str, int] = {}
        while at < len(natives):
            native = natives[at]
            role, kind = _side(native, read)
            if role == "assistant":
                if followed:
                    break
                last, thought = kind, thought or kind == "reasoning"
                if kind == "function_call" and is_clean_call(native):
                    ids.append(call_id := native["call_id"])
                    waiting[call_id] = waiting.get(call_id, 0) + 1
                elif kind == "message" and not ((calls_last or pairing) and ids):
                    mask |= scan_message(native, role)
                elif kind != "reasoning" or (calls_last and ids) or not _is_clean_reasoning(native, limits):
                    mask = DIRTY
            elif kind == "function_call_output":
                followed, call_id = True, native.get("call_id")
                mask |= scan_message(native, role)
                if rest or mask == DIRTY or not waiting.get(call_id):
                    mask = DIRTY
                else:
                    waiting[call_id] -= 1
                    answered.append(call_id)
            else:
                followed = rest = True
                memory.has_user |= role == "user"
                mask |= scan_message(native, native["role"]) if kind and (role == "user" or instructs) else DIRTY
            if native.__class__ is dict and "id" in native:
                named.append(native)
            at += 1
        if (pairing and len(answered) != len(ids)) or (ordered and answered != ids):
            mask = DIRTY
        if mask == DIRTY or last == "reasoning" or not (followed or trailing):
            return at, DIRTY, [*ids, *_other_ids(natives[start:at], ids)]
        if len(set(ids)) < len(ids) or (unique and not memory.call_ids.isdisjoint(ids)):
            return at, DIRTY, ids
        if named and not (thought or memory.has_reasoning) and limits.reasoning_items == "required":
            return at, DIRTY, ids
        if named and limits.item_ids and not _are_clean_ids(named, memory):
            return at, DIRTY, ids
        return at, mask, ids

    return scan


def _other_ids(natives: Sequence[Any], ids: list[str]) -> list[str]:
    """The ids of calls that are not clean: a result of a later window may name them all the same."""
    calls = (n for n in natives if n.__class__ is dict and str(n.get("type", "")).endswith("_call"))
    known = set(ids)
    return [call_id for n in calls if isinstance(call_id := n.get("call_id"), str) and call_id not in known]


def _side(native: Any, read: Read) -> tuple[str, str]:  # noqa: ANN401 - anything may stand here
    """Whose an entry is (``assistant``, ``tool``, ``user``, ``system``), and its type; "" for one to be looked at."""
    if native.__class__ is dict:
        kind = native.get("type", "message")
        if kind.__class__ is str and kind in _SIDES:
            return _SIDES[kind], kind
        if kind == "message":
            role = native.get("role")
            if role == "user" or role == "assistant":  # noqa: PLR1714
                return role, _plain(native)
            if role == "system" or role == "developer":  # noqa: PLR1714
                return "system", _plain(native)
    message = read(native)
    return ("assistant" if message.is_assistant else "system" if message.is_system else str(message.role)), ""


def _plain(native: dict[str, Any]) -> str:
    return "message" if _MESSAGE.issuperset(native) and _is_sound_beside(native) else ""


def _is_sound_beside(native: dict[str, Any]) -> bool:
    """Whether what stands beside an entry's words can be encoded."""
    for key in _BESIDE:
        value = native.get(key)
        if value is not None and not (value.__class__ is str and value.isascii()) and not is_sound_value(value):
            return False
    return True


def _message_scanner(limits: Limits) -> Callable[[dict[str, Any], str], int]:
    """A function that looks at a message, or at an output: ``DIRTY`` for one that some rule may change."""
    told, said = limits.block_types, limits.said_types
    refused = limits.refused_part_keys
    empty = not limits.empty_roles and limits.empty_parts
    is_clean_image = image_check(limits, SHAPES)

    def scan_part(part: Any, role: str, known: frozenset[str] | None) -> int:  # noqa: ANN401
        if part.__class__ is not dict:
            return DIRTY
        kind = part.get("type")
        if kind.__class__ is not str or not kind or (known is not None and kind not in known):
            return DIRTY
        mask: int = Symptom.LADEN
        if kind in TEXTS:
            text = part.get("text")
            if text.__class__ is not str or not is_sound(text) or not (empty or text.strip()):
                return DIRTY
            if len(part) == 2:  # noqa: PLR2004 - type and text
                return 0
            mask = Symptom.LADEN if "cache_control" in part else 0
        return mask if refused.isdisjoint(part) and is_clean_image(part, role) and is_sound_value(part) else DIRTY

    def scan_message(native: dict[str, Any], role: str) -> int:
        content = native.get("output" if role == "tool" else "content")
        if has_wrong_status(native):
            return DIRTY
        if role == "tool" and not (
            _OUTPUT.issuperset(native) and native.get("call_id").__class__ is str and _is_sound_beside(native)
        ):
            return DIRTY
        if content.__class__ is str:
            return 0 if is_sound(content) and (empty or content.strip()) else DIRTY
        if content.__class__ is not list or not (empty or content):
            return DIRTY
        mask, known = 0, said if role == "assistant" else told
        for part in content:
            mask |= scan_part(part, role, known)
        return mask

    return scan_message


def _call_check(limits: Limits) -> Callable[[dict[str, Any]], bool]:
    longest = limits.max_call_id_length or 1 << 30
    named = re.compile(limits.tool_name_pattern).fullmatch if limits.tool_name_pattern else None
    shaped = re.compile(limits.call_id_pattern).fullmatch if limits.call_id_pattern else None
    takes_text = limits.arguments in ("any", "text")

    def is_clean(native: dict[str, Any]) -> bool:
        call_id, name, text = native.get("call_id"), native.get("name"), native.get("arguments")
        if call_id.__class__ is not str or name.__class__ is not str or text.__class__ is not str:
            return False
        if (
            not _CALL.issuperset(native)
            or has_wrong_status(native)
            or not _is_sound_beside(native)
            or not call_id
            or len(call_id) > longest
            or not call_id.isascii()
        ):
            return False
        if not name or (named and not named(name)) or (shaped and not shaped(call_id)):
            return False
        return takes_text and is_sound(name) and is_sound_json(text)

    return is_clean


def _is_clean_reasoning(native: dict[str, Any], limits: Limits) -> bool:
    if not limits.empty_reasoning and not says_something(native):
        return False
    if not _REASONING.issuperset(native) or has_wrong_status(native) or settled_reasoning(native) is not native:
        return False
    return is_sound_value(native)


def has_wrong_status(native: dict[str, Any]) -> bool:
    """Whether an entry has a status that none has; those of the provider's own tools are its own affair."""
    return "status" in native and native["status"] not in _STATUSES


def settled_reasoning(native: dict[str, Any]) -> dict[str, Any]:
    """An entry of reasoning with what the API can read of it: the very object where that is all."""
    summary, content = native.get("summary"), native.get("content", [])
    proof = native.get("encrypted_content")
    told = content if content is None else _typed(content, "reasoning_text")
    settled, odd = _typed(summary, "summary_text"), proof is not None and proof.__class__ is not str
    if settled is summary and told is content and not odd:
        return native
    kept = {key: value for key, value in native.items() if key != "encrypted_content" or not odd}
    return {**kept, "summary": settled, **({"content": told} if "content" in native else {})}


def _typed(parts: Any, kind: str) -> list[Any]:  # noqa: ANN401 - anything may stand here
    """The texts among the parts, each with its type; the very list where it holds nothing else."""
    if parts.__class__ is list and all(_is_typed(part, kind) for part in parts):
        return parts
    told = parts if isinstance(parts, list) else (parts,)
    told = [{"text": part} if isinstance(part, str) else part for part in told]
    return [{**p, "type": kind} for p in told if isinstance(p, dict) and isinstance(p.get("text"), str)]


def _is_typed(part: Any, kind: str) -> bool:  # noqa: ANN401
    return isinstance(part, dict) and part.get("type") == kind and isinstance(part.get("text"), str)


def says_something(native: dict[str, Any]) -> bool:
    """Whether an entry of reasoning has words, or a proof."""
    summary, proof = native.get("summary"), native.get("encrypted_content")
    told = any(isinstance(part, dict) and part.get("text") for part in (summary if isinstance(summary, list) else ()))
    return told or (isinstance(proof, str) and bool(proof))


def _are_clean_ids(named: list[dict[str, Any]], memory: Memory) -> bool:
    if not all(map(is_legal_id, named)):
        return False
    ids = {native["id"] for native in named}
    return len(ids) == len(named) and memory.item_ids.isdisjoint(ids)


def is_legal_id(native: dict[str, Any]) -> bool:
    """Whether an entry has no id, or one that is spelled as its type's are."""
    if "id" not in native:
        return True
    item_id, kind = native["id"], native.get("type", "message")
    if not isinstance(item_id, str) or not item_id or len(item_id) > LONGEST_ID:
        return False
    return not isinstance(kind, str) or item_id.startswith(PREFIXES.get(kind, ""))
