"""The scan of a window of Gemini contents: what is plainly clean is passed, anything else every rule looks at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.dialects.content import is_thought_signature
from chatmend.dialects.image_scan import image_check
from chatmend.jsontext import is_sound, is_sound_value, is_too_deep
from chatmend.windows import Symptom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmend.dialects import Scan
    from chatmend.targets.limits import Limits
    from chatmend.transcript import Message
    from chatmend.windows import Memory

    Read = Callable[[Any], Message]

DIRTY = ~0
DATA = {
    "text": "text",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
    "toolCall": "toolCall",
    "tool_call": "toolCall",
    "toolResponse": "toolResponse",
    "tool_response": "toolResponse",
}
"""The keys of a part that hold its data, and what they mean."""
SHAPES = ("inline",)
"""How an image stands in a part: see ``pictures.Picture``."""
CALL_KEYS = frozenset({"id", "name", "args", "partialArgs", "partial_args", "willContinue", "will_continue"})
RESPONSE_KEYS = frozenset({"id", "name", "response", "parts", "scheduling", "willContinue", "will_continue"})
"""The fields of FunctionCall and FunctionResponse in google-genai 2; others are unknown names."""
_Named = tuple[object, object]
"""The id and the name of a call, or of a response."""
_EXCHANGED = frozenset({"functionCall", "functionResponse"})
_OBJECTS = frozenset(DATA.values()) - {"text"}


_ROLES = {"model": "assistant", "user": "user", "function": "user"}


def data_key(native: dict[str, Any]) -> str | None:
    """Under which key a part has its data; None where it has none, or several."""
    if len(native) == 1 and (only := next(iter(native))).__class__ is str:
        return only if only in DATA else None
    keys = [key for key in native if key.__class__ is str and key in DATA]
    return keys[0] if len(keys) == 1 else None


def kind_of(native: object) -> str | None:
    """What a part is: the camelCase name of its data; ``thought`` without any; None for what the API cannot read."""
    if not isinstance(native, dict):
        return None
    if (key := data_key(native)) is None:
        signed = native.get("thoughtSignature") or native.get("thought_signature")
        bare = not any(isinstance(name, str) and name in DATA for name in native)
        return "thought" if bare and signed else None
    kind, value = DATA[key], native[key]
    fits = isinstance(value, dict) if kind in _OBJECTS else isinstance(value, str)
    return kind if fits else None


def contents_scanner(limits: Limits, read: Read) -> Scan:
    """A scan for windows under these limits; ``read`` says whose an unusual content is."""
    is_clean_part = _part_check(limits)
    required = limits.thought_signatures == "required"
    unique = limits.unique_call_ids != "no"
    strict = limits.alternation or not limits.pairing or limits.trailing_assistant != "accepted"

    def scan(natives: Sequence[Any], start: int, memory: Memory) -> tuple[int, int, list[str]]:
        at, run, dirty, followed, over, signed, laden = start, 0, False, False, False, True, False
        calls: list[_Named] = []
        answers: list[_Named] = []
        ids: list[str] = []
        while at < len(natives):
            role, parts = _side(natives[at], read)
            if role == "model":
                if followed:
                    break
                run += 1
            else:
                followed = True
                memory.has_user |= role != "system"
                dirty = dirty or role == "system"
            dirty = dirty or not parts
            before = len(calls)
            for part in parts:
                kind = is_clean_part(part, role)
                if kind == "functionCall":
                    call = part.get("functionCall") or part["function_call"]
                    signed = signed and (bool(calls) or "thoughtSignature" in part or "thought_signature" in part)
                    calls.append((call.get("id"), call["name"]))
                    ids += [call["id"]] if "id" in call else []
                    dirty = dirty or role != "model"
                elif kind == "functionResponse":
                    held = part.get("functionResponse") or part["function_response"]
                    answers.append((held.get("id"), held["name"]))
                    dirty, laden = dirty or over or role == "model", laden or "parts" in held
                else:
                    over, laden = over or followed, laden or kind != "text"
                    dirty = dirty or kind is None or role == "function"
            dirty = dirty or (role == "model" and 0 < before == len(calls))  # it may have gone on without a result
            at += 1
        paired = calls == answers and (signed or not required or not calls)
        turns = not strict or (run <= 1 and followed and at - start - run <= 1)
        known = unique and (len(set(ids)) < len(ids) or not memory.call_ids.isdisjoint(ids))
        if dirty or known or not (paired and turns):
            return at, DIRTY, ids
        return at, Symptom.LADEN if laden else 0, ids

    return scan


def _side(native: Any, read: Read) -> tuple[str, list[Any]]:  # noqa: ANN401 - anything may stand here
    """Whose a content is, and its parts: none of one that is to be looked at."""
    plain = native.__class__ is dict and len(native) == 2 and "parts" in native  # noqa: PLR2004 - role and parts
    role = native.get("role") if plain else None
    parts = native["parts"] if plain else []
    parts = [parts] if parts.__class__ is dict and data_key(parts) else parts
    if role not in ("model", "user", "function") or parts.__class__ is not list:
        return _role_of(native, read), []
    if role == "model" and parts and kind_of(parts[0]) == "functionResponse":
        return _role_of(native, read), []
    return role, parts


def _role_of(native: object, read: Read) -> str:
    message = read(native)
    return "model" if message.is_assistant else "system" if message.is_system else "user"


def _part_check(limits: Limits) -> Callable[[Any, str], str | None]:
    """A function that says what a clean part is, and None of one to be looked at."""
    known, named = limits.part_keys, re.compile(limits.tool_name_pattern or ".*").fullmatch
    strict_base64 = limits.thought_signatures != "any"
    kinds = limits.block_types
    empty = limits.empty_parts
    is_clean_image = image_check(limits, SHAPES)

    takes_text = (known is None or "text" in known) and (kinds is None or "text" in kinds)

    def is_clean(part: Any, role: str) -> str | None:  # noqa: ANN401 - anything may stand here
        if takes_text and part.__class__ is dict and len(part) == 1 and (text := part.get("text")).__class__ is str:
            return "text" if is_sound(text) and (empty or text.strip()) else None
        kind = kind_of(part)
        if kind is None or (known is not None and not known.issuperset(part)) or not (kinds is None or kind in kinds):
            return None
        if known is not None and part.get("thought") is not None and part["thought"].__class__ is not bool:
            return None
        if strict_base64 and (len(part) > 1 or kind == "thought"):
            signed = (part[key] for key in ("thoughtSignature", "thought_signature") if key in part)
            if not all(map(is_thought_signature, signed)):
                return None
        if kind == "functionCall":
            call = part.get("functionCall") or part.get("function_call")
            if not _is_clean_name(call, named) or not isinstance(call.get("args", {}), dict) or is_too_deep(call):
                return None
            if known is not None and not CALL_KEYS.issuperset(call):
                return None
        elif kind == "functionResponse":
            held = part.get("functionResponse") or part.get("function_response")
            if not _is_clean_name(held, named) or not isinstance(held.get("response"), dict) or is_too_deep(held):
                return None
            if known is not None and not RESPONSE_KEYS.issuperset(held):
                return None
            beside = held.get("parts", [])
            if beside.__class__ is not list or not all(
                isinstance(p, dict) and is_clean_image(p, "tool") for p in beside
            ):
                return None
        if kind not in _EXCHANGED and not is_clean_image(part, _ROLES[role]):
            return None
        return kind if is_sound_value(part) else None

    return is_clean


def _is_clean_name(held: Any, named: Any) -> bool:  # noqa: ANN401
    if not isinstance(held, dict) or not isinstance(held.get("name"), str) or not held["name"]:
        return False
    if "id" in held and not (isinstance(held["id"], str) and held["id"]):
        return False
    return bool(named(held["name"]))
