"""Gemini's generateContent: ``contents``, each with a list of parts.

Calls and responses are parts, which are matched by name and position. Google accepts every key in
camelCase and in snake_case; new keys are written in camelCase.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatmend import jsontext
from chatmend.dialects import foreign
from chatmend.dialects.content import read_part
from chatmend.dialects.gemini_parts import (
    CALL_KEYS,
    RESPONSE_KEYS,
    SHAPES,
    SIGNATURE_KEYS,
    data_key,
    data_keys,
    kind_of,
    signature_of,
)
from chatmend.dialects.pictures import find_picture, is_media_type
from chatmend.dialects.roles import ALIASES
from chatmend.dialects.traits import Traits, remember, set_limits
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
    from chatmend.sketch import Sketch
    from chatmend.transcript import Native, Part

NAME = "gemini_contents"
TRAITS = Traits(
    messages_key="contents",
    system_keys=("systemInstruction", "system_instruction"), content_keys=("parts",),
    has_top_level_system=True, results_are_parts=True, object_arguments=True, types_by_role=True,
    signs_calls=True,
    names_results=True, joins_results=True, image_shapes=SHAPES,
    boolean_keys=frozenset({"thought"}),
    object_keys=(
        ("functionCall", CALL_KEYS), ("function_call", CALL_KEYS),
        ("functionResponse", RESPONSE_KEYS), ("function_response", RESPONSE_KEYS),
    ),
)  # fmt: skip
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "write",
]
_ROLE_NAMES = {Role.ASSISTANT: "model", Role.USER: "user", Role.TOOL: "user"}
_ROLES = {"model": Role.ASSISTANT, "user": Role.USER, "function": Role.USER, "system": Role.SYSTEM}


def has_parts(native: dict[str, object]) -> bool:
    """Return whether a message has ``parts`` and no ``content``, as in this dialect only."""
    return isinstance(native.get("parts"), list | dict) and "content" not in native


_ARGUMENT_KEYS = ("args", "partialArgs", "partial_args")
_ROLE_AND_PARTS = _NAME_AND_OBJECT = _SIGNED = 2


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


def sketch(native: Native, checker: Sketch) -> object:
    """Return the role and kinds of parts of a content with common parts; None for any other."""
    if native.__class__ is not dict or len(native) != _ROLE_AND_PARTS:
        return None
    role, parts = native.get("role"), native.get("parts")
    if role.__class__ is not str or parts.__class__ is not list:
        return None
    form: list[object] = [role]
    for part in parts:
        kind = _usual_kind(part, checker)
        if kind is None:
            return None
        form += (kind, len(part))
    return tuple(form)


def _usual_kind(part: Native, checker: Sketch) -> str | None:
    """Return the key of the content of a common part, which may be signed; None for any other."""
    if not isinstance(part, dict) or not part:
        return None
    kind: str = next(iter(part))
    if len(part) > 1 and not (
        len(part) == _SIGNED and checker.is_signature(part.get("thoughtSignature"))
    ):
        return None
    held = part[kind]
    if kind == "text":
        return kind if checker.is_text(held) else None
    is_call = kind == "functionCall"
    if held.__class__ is not dict or len(held) != _NAME_AND_OBJECT:
        return None
    if not (is_call or kind == "functionResponse") or not checker.is_name(held.get("name")):
        return None
    is_usual = checker.is_object(held.get("args")) if is_call else checker.is_result(held)
    return kind if is_usual else None


def read(native: Native) -> Message:
    """Read one content. Never raises."""
    if not isinstance(native, dict):
        text = (Text(native),) if isinstance(native, str) else (Opaque(native),)
        return Message(Role.USER, text, native)
    if _is_foreign(native):
        return foreign.read(native)
    parts = _read_parts(native.get("parts"))
    role, native_role = _role_of(native, parts)
    return Message(role, parts, native, native_role)


def _is_foreign(native: dict[str, object]) -> bool:
    return "parts" not in native and ("content" in native or foreign.is_chat(native))


def _read_parts(listed: object) -> tuple[Part, ...]:
    """Read the parts of a content; the API accepts a single object as a list of one part."""
    if isinstance(listed, list):
        return tuple(map(_read_part, listed))
    if isinstance(listed, dict):
        return (_read_part(listed),)
    return () if listed is None else (Opaque(listed),)


def _role_of(native: dict[str, object], parts: tuple[Part, ...]) -> tuple[Role, object]:
    """Return the role and its native name; the name is None if it must be replaced."""
    word = native.get("role")
    own = _ROLES.get(word) if isinstance(word, str) else None
    role = own or (ALIASES.get(word, Role.USER) if isinstance(word, str) else Role.USER)
    answers = (
        bool(parts)
        and isinstance(parts[0], ToolResult)
        and not any(isinstance(p, ToolCall) for p in parts)
    )
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
        typed = (
            None
            if isinstance(native, dict)
            and data_keys(native)
            and not isinstance(native.get("file_data"), str)  # OpenAI's, not a part of Gemini
            else read_part(native)
        )
        return typed if isinstance(typed, Thinking | Media) else Opaque(native)
    value, signature = native.get(data_key(native) or ""), signature_of(native)
    if isinstance(value, dict):
        return _read_object(native, kind, value, signature)
    if native.get("thought") is True:
        signed = signature if isinstance(signature, str) else None
        return Thinking(
            value if isinstance(value, str) else "", signed, location="own", native=native
        )
    return Text(value, native) if isinstance(value, str) else Opaque(native)


def _read_object(
    native: dict[str, object], kind: str, value: dict[str, object], signature: object
) -> Part:
    if kind == "functionCall":
        held = (value[key] for key in _ARGUMENT_KEYS if value.get(key) is not None)
        name = value.get("name")
        return ToolCall(value.get("id"), name, next(held, {}), signature, native=native)
    if kind == "functionResponse":
        return ToolResult(value.get("id"), _read_response(value), value.get("name"), native=native)
    return (
        Media(native, _media_kind(native, value))
        if kind in ("inlineData", "fileData")
        else Opaque(native)
    )


def _media_kind(native: dict[str, object], held: dict[str, object]) -> str:
    mime = str(held.get("mimeType") or held.get("mime_type") or "image/")
    if not is_media_type(mime) and find_picture(native) is not None:
        return "image"
    kind = mime.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _read_response(value: dict[str, object]) -> tuple[Part, ...]:
    """Read the result of a tool and its media; a response of only ``output`` text is a text."""
    response = value.get("response")
    media = value.get("parts")
    media_parts = tuple(map(_read_result_media, media)) if isinstance(media, list) else ()
    if (
        isinstance(response, dict)
        and list(response) == ["output"]
        and isinstance(response["output"], str)
    ):
        return (Text(response["output"], response), *media_parts)
    return ((Opaque(response),) if response is not None else ()) + media_parts


def _read_result_media(native: Native) -> Part:
    """Read one of the ``parts`` of a response; an image without data is opaque."""
    part = _read_part(native)
    is_final = not isinstance(part, Media) or kind_of(native) is not None
    return (
        part
        if is_final or ((found := find_picture(native)) is not None and found.payload is not None)
        else Opaque(native)
    )


def write(message: Message) -> Native:
    """Write one content; an unchanged content returns its native object."""
    return foreign.write_if_changed(message, read, _build_native)


def _build_native(message: Message) -> dict[str, object]:
    base = message.kept_keys
    word: object = message.native_role if message.native_role not in (None, message.role) else None
    if word is None:
        kept = base.get("role") == "function" and all(
            isinstance(part, ToolResult) for part in message.parts
        )
        word = (
            "function"
            if kept and message.parts
            else _ROLE_NAMES.get(message.role, str(message.role))
        )
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
    native = call.extra if kind_of(call.native) == "functionCall" else {}
    old = _read_part(native)
    if isinstance(old, ToolCall) and _call_identity(old) == _call_identity(call):
        return native
    key = data_key(native) or "functionCall"
    inner = _kept_data(native.get(key), without=("id", *_ARGUMENT_KEYS))
    inner |= {"name": call.name, "args": call.arguments}
    inner |= {"id": call.id} if call.id is not None else {}
    out = {k: v for k, v in native.items() if k not in SIGNATURE_KEYS} | {key: inner}
    return out if call.signature is None else {**out, "thoughtSignature": call.signature}


def _kept_data(held: Native, *, without: tuple[str, ...]) -> dict[str, object]:
    """Return the data of a call or a response without the keys that are written anew."""
    return (
        {key: value for key, value in held.items() if key not in without}
        if isinstance(held, dict)
        else {}
    )


def _call_identity(call: ToolCall) -> tuple[object, ...]:
    return call.id, call.name, jsontext.equality_key(call.arguments), call.signature


def _write_result(result: ToolResult) -> Native:
    native = result.extra if kind_of(result.native) == "functionResponse" else {}
    old = _read_part(native)
    if isinstance(old, ToolResult) and _result_identity(old) == _result_identity(result):
        return native
    key = data_key(native) or "functionResponse"
    inner = _kept_data(native.get(key), without=("id", "parts"))
    inner |= {"name": result.name} | _response(result.content)
    inner |= {"id": result.call_id} if result.call_id is not None else {}
    return {**native, key: inner}


def _result_identity(result: ToolResult) -> tuple[object, ...]:
    content = [(getattr(part, "text", None), id(part.native)) for part in result.content]
    return result.call_id, result.name, content


def _response(content: tuple[Part, ...]) -> dict[str, object]:
    """Return the ``response`` object of a tool result and, if it has media, its ``parts``."""
    media = [_write_part(part) for part in content if isinstance(part, Media)]
    others = [part for part in content if not isinstance(part, Media)]
    media_key: dict[str, object] = {"parts": media} if media else {}
    if len(others) == 1 and isinstance(others[0], Opaque):
        return {"response": others[0].native, **media_key}
    if len(others) == 1 and isinstance(others[0], Text) and isinstance(others[0].native, dict):
        old = others[0].native
        if list(old) == ["output"] and old["output"] == others[0].text:
            return {"response": old, **media_key}
    texts = [
        part.text if isinstance(part, Text) else jsontext.dumps(part.native) for part in others
    ]
    return {"response": {"output": "\n".join(texts)}, **media_key}


def fill_content(native: dict[str, object]) -> dict[str, object] | None:
    """Return the content with an empty list of parts if parts are null or missing; else None."""
    return (
        {**native, "parts": []} if native.get("parts") is None and not _is_foreign(native) else None
    )


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Convert a chat message or a message of Anthropic's blocks to a content; else empty."""
    native = message.native
    if not isinstance(native, dict) or not _is_foreign(native):
        return ()
    message = message.with_words_as_content()
    role = Role.USER if message.role is Role.TOOL else message.role
    parts = tuple(_adopt_part(part) for part in message.parts)
    spelling = native.get("role")
    named = isinstance(spelling, str) and spelling not in ALIASES
    return (
        replace(
            message,
            role=role,
            parts=parts,
            native=foreign.other_keys(message),
            native_role=spelling if named else None,
        ),
    )


def _adopt_part(part: Part) -> Part:
    if isinstance(part, ToolCall):
        return replace(foreign.with_flat_fields(part), native=None, legacy=False)
    if isinstance(part, ToolResult):
        content = tuple(Text(p.text) if isinstance(p, Text) else p for p in part.content)
        return replace(part, native=None, legacy=False, content=content)
    if isinstance(part, Text):
        return Text(part.text)
    if isinstance(part, Thinking) and part.location == "reasoning_content":
        return replace(part, location="content", native=None)
    return part


def with_system(system: object, texts: list[str | dict[str, Any]]) -> object:
    """Return the system instruction with ``texts`` appended, each as a part."""
    if isinstance(system, str):
        system = {"parts": [{"text": system}]} if system else None
    own = system.get("parts") if isinstance(system, dict) else None
    listed = own if isinstance(own, list) else [own] if isinstance(own, dict) else []
    rest = {k: v for k, v in system.items() if k != "parts"} if isinstance(system, dict) else {}
    added = ({"text": one} if isinstance(one, str) else one for one in texts)
    return {**rest, "parts": [*listed, *added]}
