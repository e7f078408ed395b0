"""Ollama's ``/api/chat``: chat messages with a string as content and images under a separate key.

The arguments of a call are an object, calls may have no id, and a result names its tool in
``tool_name``. The fields are those of ``api/types.go`` (ollama/ollama, 2026-08-21), which Go's JSON
decoder checks: a key may be missing or null, and unknown keys are ignored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend import jsontext
from chatmend.dialects import openai_chat
from chatmend.dialects.content import original_if_same, read_parts_key, write_content
from chatmend.dialects.pictures import LISTED, convert_image, find_picture, listed_part
from chatmend.dialects.traits import (
    Traits,
    fill_content,
    kind_of,
    remember,
    set_limits,
    sketch,
    with_system,
)
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
    location_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmend.transcript import Native, Part

NAME = "ollama_chat"
TRAITS = Traits(
    tools_keys=("tools",),
    thinking_keys=("think",),
    image_keys=(LISTED,),
    object_arguments=True,
    has_calls_key=True,
    results_by_name=True,
    image_shapes=("flat",),
)
__all__ = [
    "NAME",
    "TRAITS",
    "cache_key",
    "fill_content",
    "is_own",
    "kind_of",
    "read",
    "remember",
    "set_limits",
    "sketch",
    "translate_foreign",
    "with_system",
    "write",
]
_THINKING = "thinking"
_NOTHING = (None, "")
"""Two values that mean the same to Ollama."""
_FUNCTION_KEYS = frozenset({"type", "function", "name", "arguments"})


def cache_key() -> str:
    """Return the name of the dialect: all transcripts share the cache of known structures."""
    return NAME


def is_own(native: dict[str, object]) -> bool:
    """Return whether a message has a key or a form that Chat Completions does not have.

    These are ``images``, ``tool_name``, ``thinking``, and calls with an object as arguments and
    without a type.
    """
    images = native.get(LISTED)
    if isinstance(images, list) and images and all(map(listed_part, images)):
        return True
    if isinstance(native.get("tool_name" if native.get("role") == "tool" else _THINKING), str):
        return True
    calls = native.get("tool_calls")
    return isinstance(calls, list) and any(map(_is_own_call, calls))


def _is_own_call(call: object) -> bool:
    function = call.get("function") if isinstance(call, dict) and "type" not in call else None
    return isinstance(function, dict) and isinstance(function.get("arguments"), dict)


def read(native: Native) -> Message:
    """Read one message. Never raises."""
    message = openai_chat.read(native)
    if not isinstance(native, dict):
        return message
    images = _read_images(native.get(LISTED))
    if message.role is Role.TOOL:
        return message.with_parts(tuple(_read_result(part, images) for part in message.parts))
    parts = [part for part in message.parts if location_of(part) in ("content", _THINKING)]
    calls = [_without_empty_id(part) for part in parts if isinstance(part, ToolCall)]
    content = [part for part in parts if not isinstance(part, ToolCall)]
    return message.with_parts((*_read_thinking(native, message.role), *content, *images, *calls))


def _read_images(listed: object) -> tuple[Part, ...]:
    if isinstance(listed, list):
        return tuple(
            Media(part) if (part := listed_part(image)) is not None else Opaque(image)
            for image in listed
        )
    return () if listed is None else (Opaque(listed),)


def _read_thinking(native: dict[str, object], role: Role) -> tuple[Part, ...]:
    value = native.get(_THINKING)
    if value in _NOTHING or role is not Role.ASSISTANT:
        return ()
    text = value if isinstance(value, str) else ""
    return (Thinking(text, location=_THINKING, native=value),)


def _without_empty_id(call: ToolCall) -> ToolCall:
    """Return the call with None as its id if the id is empty, which means the same to Ollama."""
    return replace(call, id=None) if call.id == "" else call


def _read_result(part: Part, images: tuple[Part, ...]) -> Part:
    if not isinstance(part, ToolResult):
        return part
    held = part.extra
    call_id = None if part.call_id == "" else part.call_id
    name = next((n for n in (held.get("tool_name"), part.name) if n and isinstance(n, str)), None)
    return replace(part, call_id=call_id, name=name, content=(*part.content, *images))


def write(message: Message) -> Native:
    """Write one message; an unchanged message returns its native object."""
    return original_if_same(_build_native(message), message, read)


def _build_native(message: Message) -> dict[str, object]:
    spelling, base = message.native_role, message.kept_keys
    out: dict[str, object] = {"role": None, **base}
    out["role"] = str(message.role) if spelling is None or spelling == message.role else spelling
    if message.role is Role.TOOL:
        (result,) = message.results or [ToolResult(None, message.parts)]
        _write_result_keys(out, result)
        _write_content(out, result.content)
        return out
    _write_content(
        out,
        [
            part
            for part in message.parts
            if not isinstance(part, ToolCall) and location_of(part) == "content"
        ],
    )
    if message.is_assistant:
        _write_thinking(out, message)
    openai_chat.write_calls(out, message.calls, _write_call)
    return out


def _write_content(out: dict[str, object], parts: Sequence[Part]) -> None:
    """Write texts as a string and images as a list of base64.

    Content that is a list, as in chats, stays a list.
    """
    old, listed = out.get("content"), out.get(LISTED)
    images = [part for part in parts if _is_listed(part)]
    if isinstance(old, list):
        images = images if isinstance(listed, list) else []
        kept = [part for part in parts if all(part is not image for image in images)]
        out["content"] = write_content(tuple(kept), old)
    else:
        text = _join([part for part in parts if not _is_listed(part)])
        if text or old is not None or "content" not in out:
            out["content"] = text
    data = [part.extra.get("data", part.extra.get("path")) for part in images]
    if data:
        out[LISTED] = listed if isinstance(listed, list) and is_unchanged(listed, data) else data
    else:
        out.pop(LISTED, None)


def _is_listed(part: Part) -> bool:
    """Return whether an image has the form in which ``images`` is read."""
    return isinstance(part, Media) and part.extra.keys() in ({"type", "data"}, {"type", "path"})


def _join(parts: Sequence[Part]) -> str:
    """Join texts with blank lines between; other parts become JSON text."""
    return "\n\n".join(
        part.text if isinstance(part, Text) else jsontext.dumps(part.native) for part in parts
    )


def _write_thinking(out: dict[str, object], message: Message) -> None:
    thoughts = [part for part in message.parts if location_of(part) == _THINKING]
    if len(thoughts) == 1 and thoughts[0].native is not None:
        out[_THINKING] = thoughts[0].native
    elif thoughts:
        out[_THINKING] = "\n\n".join(part.text for part in thoughts if isinstance(part, Thinking))
    elif out.get(_THINKING) not in _NOTHING:
        del out[_THINKING]


def _write_result_keys(out: dict[str, object], result: ToolResult) -> None:
    if result.call_id is not None:
        out["tool_call_id"] = result.call_id
    elif out.get("tool_call_id") not in _NOTHING:
        del out["tool_call_id"]
    if result.name is not None and result.name != out.get("name"):
        out["tool_name"] = result.name


def _write_call(call: ToolCall) -> Native:
    native = call.native if isinstance(call.native, dict) else {}
    function = native.get("function")
    held = function if isinstance(function, dict) else {}
    same_id = call.id == native.get("id") or (call.id is None and native.get("id") == "")
    same_function = call.name == held.get("name") and call.arguments is held.get("arguments")
    if held and same_id and same_function:
        return native
    rest = {key: value for key, value in native.items() if key not in ("id", *_FUNCTION_KEYS)}
    own = {"id": call.id} if call.id is not None else {}
    return {**own, **rest, "function": {**held, "name": call.name, "arguments": call.arguments}}


def translate_foreign(message: Message) -> tuple[Message, ...]:
    """Convert a message whose content is a list of parts, as in chats; else empty.

    Texts become one string, and images move to their own key. The assistant's thinking moves to its
    own key, too; that of other roles is a text. A ``tool_name`` that is not a string is removed,
    and so is a ``thinking`` of another role.
    """
    native = message.native
    if message.role is not Role.TOOL and (found := read_parts_key(message)):
        return tuple(map(_adopt, found))
    if not isinstance(native, dict):
        return ()
    refused = {"content"} if isinstance(native.get("content"), list) else set()
    refused |= {key for key in _names(message) if not isinstance(native.get(key), str | None)}
    if not refused:
        return ()
    kept = {key: value for key, value in native.items() if key not in refused}
    return (_adopt(replace(message, native=kept)),)


def _names(message: Message) -> tuple[str, ...]:
    """Return the keys of texts that are not read into parts of the message."""
    return ("tool_name",) if message.is_assistant else ("tool_name", _THINKING)


def _adopt(message: Message) -> Message:
    return message.with_parts(tuple(_adopt_part(part, message.role) for part in message.parts))


def _adopt_part(part: Part, role: Role) -> Part:
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(_adopt_part(inner, role) for inner in part.content))
    if isinstance(part, Thinking) and part.location == "content":
        own = replace(part, location=_THINKING, signature=None, native=None)
        return own if role is Role.ASSISTANT else Text(part.text)
    if isinstance(part, Media) and (found := find_picture(part.extra)) is not None:
        converted = convert_image(part.extra, found, "flat")
        return part if converted is None else replace(part, native=converted)
    return Text(part.text) if isinstance(part, Text) else part
