"""Gemini's generateContent: ``contents`` with parts; calls and responses are parts, matched by name and position.

Google reads every key in camelCase and in snake_case; what is written anew is camelCase.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.dialects import foreign
from chatmend.dialects.content import read_part
from chatmend.dialects.gemini_parts import CALL_KEYS, DATA, RESPONSE_KEYS, SHAPES, data_key, kind_of
from chatmend.dialects.pictures import picture
from chatmend.dialects.roles import ALIASES
from chatmend.dialects.traits import Traits, expect, remember
from chatmend.transcript import Media, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult, is_unchanged

if TYPE_CHECKING:
    from chatmend.sketch import Sketch
    from chatmend.transcript import Native, Part

NAME = "gemini_contents"
TRAITS = Traits(
    messages_key="contents", system_keys=("systemInstruction", "system_instruction"), content_keys=("parts",),
    system_beside=True, results_inside=True, object_arguments=True, types_by_role=True, signs_calls=True,
    names_results=True, image_shapes=SHAPES, flags=frozenset({"thought"}),
    held_keys=(
        ("functionCall", CALL_KEYS), ("function_call", CALL_KEYS),
        ("functionResponse", RESPONSE_KEYS), ("function_response", RESPONSE_KEYS),
    ),
)  # fmt: skip
__all__ = [
    "NAME",
    "TRAITS",
    "expect",
    "key",
    "kind_of",
    "read",
    "remember",
    "sketch",
    "write",
]
_WORDS = {Role.ASSISTANT: "model", Role.USER: "user", Role.TOOL: "user"}
_OWN = {"model": Role.ASSISTANT, "user": Role.USER, "function": Role.USER, "system": Role.SYSTEM}
_SIGNATURES = ("thoughtSignature", "thought_signature")


def speaks(native: dict[str, object]) -> bool:
    """Whether a message has parts, as only this dialect's have."""
    return isinstance(native.get("parts"), list | dict) and "content" not in native


_ROLE_AND_PARTS = _NAME_AND_OBJECT = 2
_CALL_OR_RESPONSE = {"functionCall": "args", "functionResponse": "response"}


def key() -> str:
    """What was learnt of one chat holds for all."""
    return NAME


def sketch(native: Native, look: Sketch) -> object:
    """What contents of the usual parts share; None: another form."""
    if native.__class__ is not dict or len(native) != _ROLE_AND_PARTS:
        return None
    role, parts = native.get("role"), native.get("parts")
    if role.__class__ is not str or parts.__class__ is not list:
        return None
    form: list[object] = [role]
    for part in parts:
        if part.__class__ is not dict or len(part) != 1:
            return None
        ((kind, held),) = part.items()
        if kind != "text":
            told = _CALL_OR_RESPONSE.get(kind)
            usual = told is not None and held.__class__ is dict and len(held) == _NAME_AND_OBJECT
            if not usual or not look.is_name(held.get("name")) or not look.is_object(held.get(told)):
                return None
        elif not look.is_text(held):
            return None
        form.append(kind)
    return tuple(form)


def read(native: Native) -> Message:
    """Read one content. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    if _is_foreign(native):
        return foreign.read(native)
    parts = _read_parts(native.get("parts"))
    role, spelling = _role_of(native, parts)
    return Message(role, parts, native, spelling)


def _is_foreign(native: dict[str, object]) -> bool:
    return "parts" not in native and ("content" in native or foreign.is_chat(native))


def _read_parts(listed: object) -> tuple[Part, ...]:
    """The API reads a single object for a list of one."""
    if isinstance(listed, list):
        return tuple(map(_read_part, listed))
    if isinstance(listed, dict):
        return (_read_part(listed),)
    return () if listed is None else (Opaque(listed),)


def _role_of(native: dict[str, object], parts: tuple[Part, ...]) -> tuple[Role, object]:
    """The role, and how it is spelled: None where another word must be written."""
    word = native.get("role")
    own = _OWN.get(word) if isinstance(word, str) else None
    role = own or (ALIASES.get(word, Role.USER) if isinstance(word, str) else Role.USER)
    answers = bool(parts) and isinstance(parts[0], ToolResult) and not any(isinstance(p, ToolCall) for p in parts)
    if role is Role.TOOL or (role is Role.ASSISTANT and answers):
        return Role.USER, None
    if word == "function" and not all(isinstance(part, ToolResult) for part in parts):
        return Role.USER, None
    if own is None:
        return role, word if isinstance(word, str) and word not in ALIASES else None
    return role, role


def _read_part(native: Native) -> Part:
    if isinstance(native, str):
        return Text(native, native)
    kind = kind_of(native)
    if not isinstance(native, dict) or kind is None:
        typed = None if isinstance(native, dict) and not DATA.keys().isdisjoint(native) else read_part(native)
        return typed if isinstance(typed, Thinking | Media) else Opaque(native)
    value, signature = native.get(data_key(native) or ""), _signature_of(native)
    if isinstance(value, dict):
        return _read_object(native, kind, value, signature)
    if native.get("thought") is True:
        proof = signature if isinstance(signature, str) else None
        return Thinking(value if isinstance(value, str) else "", proof, place="own", native=native)
    return Text(value, native) if isinstance(value, str) else Opaque(native)


def _signature_of(native: dict[str, object]) -> object:
    return next((native[key] for key in _SIGNATURES if key in native), None)


def _read_object(native: dict[str, object], kind: str, value: dict[str, object], signature: object) -> Part:
    if kind == "functionCall":
        arguments = value["args"] if "args" in value else value.get("partialArgs", {})
        return ToolCall(value.get("id"), value.get("name"), arguments, signature, native=native)
    if kind == "functionResponse":
        return ToolResult(value.get("id"), _read_response(value), value.get("name"), native=native)
    return Media(native, _medium(value)) if kind in ("inlineData", "fileData") else Opaque(native)


def _medium(held: dict[str, object]) -> str:
    mime = str(held.get("mimeType") or held.get("mime_type") or "image/")
    kind = mime.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _read_response(value: dict[str, object]) -> tuple[Part, ...]:
    """What a tool answered: the text where it is nothing else, and the media beside it."""
    response = value.get("response")
    media = value.get("parts")
    beside = tuple(map(_read_beside, media)) if isinstance(media, list) else ()
    if isinstance(response, dict) and list(response) == ["output"] and isinstance(response["output"], str):
        return (Text(response["output"], response), *beside)
    return ((Opaque(response),) if response is not None else ()) + beside


def _read_beside(native: Native) -> Part:
    """What stands beside a tool's answer: media, if it holds any."""
    part = _read_part(native)
    held = not isinstance(part, Media) or kind_of(native) is not None
    return part if held or ((found := picture(native)) is not None and found.payload is not None) else Opaque(native)


def write(message: Message) -> Native:
    """Write one content: its native object itself when nothing in it changed."""
    return foreign.same_or(message, read, _written)


def _written(message: Message) -> dict[str, object]:
    native = message.native
    base = {k: v for k, v in native.items() if k not in message.without} if isinstance(native, dict) else {}
    word: object = message.spelling if message.spelling not in (None, message.role) else None
    if word is None:
        kept = base.get("role") == "function" and all(isinstance(part, ToolResult) for part in message.parts)
        word = "function" if kept and message.parts else _WORDS.get(message.role, str(message.role))
    out: dict[str, object] = {"role": word}
    out |= {key: value for key, value in base.items() if key != "role"}
    parts = [_write_part(part) for part in message.parts]
    old = out.get("parts")
    out["parts"] = old if isinstance(old, list) and is_unchanged(old, parts) else parts
    return out


def _write_part(part: Part) -> Native:
    native = part.native if isinstance(part.native, dict) else None
    match part:
        case ToolCall():
            return _write_call(part)
        case ToolResult():
            return _write_result(part)
        case Text(text):
            if native is None or kind_of(native) != "text":
                return {"text": text}
            kept = {key: value for key, value in native.items() if key != "type"}
            return native if native.get("text") == text else {**kept, "text": text}
        case Thinking(text, signature) if native is None:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case _:
            return part.native


def _write_call(call: ToolCall) -> Native:
    native = call.native if isinstance(call.native, dict) and kind_of(call.native) == "functionCall" else {}
    old = _read_part(native)
    if isinstance(old, ToolCall) and _said(old) == _said(call):
        return native
    key = data_key(native) or "functionCall"
    held = native.get(key)
    inner = {k: v for k, v in held.items() if k not in ("id", "partialArgs")} if isinstance(held, dict) else {}
    inner |= {"name": call.name, "args": call.arguments}
    inner |= {"id": call.id} if call.id is not None else {}
    out = {k: v for k, v in native.items() if k not in _SIGNATURES} | {key: inner}
    return out if call.signature is None else {**out, "thoughtSignature": call.signature}


def _said(call: ToolCall) -> tuple[object, ...]:
    return call.id, call.name, jsontext.identity(call.arguments), call.signature


def _write_result(result: ToolResult) -> Native:
    native = result.native if isinstance(result.native, dict) and kind_of(result.native) == "functionResponse" else {}
    old = _read_part(native)
    if isinstance(old, ToolResult) and _answered(old) == _answered(result):
        return native
    key = data_key(native) or "functionResponse"
    held = native.get(key)
    inner = {k: v for k, v in held.items() if k not in ("id", "parts")} if isinstance(held, dict) else {}
    inner |= {"name": result.name} | _response(result.content)
    inner |= {"id": result.call_id} if result.call_id is not None else {}
    return {**native, key: inner}


def _answered(result: ToolResult) -> tuple[object, ...]:
    said = [(getattr(part, "text", None), id(part.native)) for part in result.content]
    return result.call_id, result.name, said


def _response(content: tuple[Part, ...]) -> dict[str, object]:
    """The object that stands for what a tool answered, and the media beside it."""
    media = [_write_part(part) for part in content if isinstance(part, Media)]
    said = [part for part in content if not isinstance(part, Media)]
    beside: dict[str, object] = {"parts": media} if media else {}
    if len(said) == 1 and isinstance(said[0], Opaque):
        return {"response": said[0].native, **beside}
    if len(said) == 1 and isinstance(said[0], Text) and isinstance(said[0].native, dict):
        old = said[0].native
        if list(old) == ["output"] and old["output"] == said[0].text:
            return {"response": old, **beside}
    words = [part.text if isinstance(part, Text) else jsontext.dumps(part.native) for part in said]
    return {"response": {"output": "\n".join(words)}, **beside}


def filled(native: dict[str, object]) -> dict[str, object] | None:
    """The content with an empty list of parts in the place of null or none; None where it has some."""
    return {**native, "parts": []} if native.get("parts") is None and not _is_foreign(native) else None


def translated(message: Message) -> tuple[Message, ...]:
    """The content that says what a chat message, or one of Anthropic's blocks, says."""
    native = message.native
    if not isinstance(native, dict) or not _is_foreign(native):
        return ()
    role = Role.USER if message.role is Role.TOOL else message.role
    parts = tuple(_adopted(part) for part in message.parts)
    spelling = native.get("role")
    named = isinstance(spelling, str) and spelling not in ALIASES
    return (
        replace(message, role=role, parts=parts, native=foreign.rest(message), spelling=spelling if named else None),
    )


def _adopted(part: Part) -> Part:
    if isinstance(part, ToolCall):
        return replace(foreign.whole(part), native=None, legacy=False)
    if isinstance(part, ToolResult):
        content = tuple(Text(p.text) if isinstance(p, Text) else p for p in part.content)
        return replace(part, native=None, legacy=False, content=content)
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, Thinking) and part.place == "reasoning_content":
        return replace(part, place="content", native=None)
    return part


def with_system(system: object, texts: list[str]) -> object:
    """The system instruction with texts behind it, each a part."""
    if isinstance(system, str):
        system = {"parts": [{"text": system}]} if system else None
    own = system.get("parts") if isinstance(system, dict) else None
    listed = own if isinstance(own, list) else [own] if isinstance(own, dict) else []
    rest = {k: v for k, v in system.items() if k != "parts"} if isinstance(system, dict) else {}
    return {**rest, "parts": [*listed, *({"text": text} for text in texts)]}
