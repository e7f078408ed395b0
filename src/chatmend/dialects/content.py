"""Message content as a string or a list of typed parts, for the dialects that have this form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.dialects.attachments import find_attachment
from chatmend.dialects.pictures import find_picture
from chatmend.dialects.thinking import is_claude_signature
from chatmend.images.payload import encode_base64
from chatmend.jsonnumbers import has_lost_numbers
from chatmend.jsontext import is_base64, is_same
from chatmend.transcript import TEXTS, Media, Opaque, Role, Text, Thinking, ToolCall, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.transcript import Message, Native, Part

MEDIA = {
    "image_url": "image",
    "image": "image",
    "input_image": "image",
    "input_file": "file",
    "document": "document",
    "file": "file",
    "document_url": "document",
    "input_audio": "audio",
    "video_url": "video",
}
SIGNATURES = ("signature", "thinkingSignature", "thoughtSignature", "thought_signature")
"""Keys of a thinking block's signature: Anthropic's, then those of other hosts of its models."""
_SIGNATURE_HOLDERS = frozenset({"extra_content", "provider_specific_fields"})
"""Keys of a call that may hold an object with its thought signature."""
ID_SEPARATOR = "__thought__"
"""LiteLLM writes the thought signature of a call after its id and this separator.

litellm 1.106.2: ``prompt_templates/factory.py``, ``encode_tool_call_id_with_signature``.
"""
_FOREIGN_PREFIXES = ("msg_", "rs_", "fc_", "resp_", "call_", "toolu_", "gen-", "chatcmpl", "gAAAA")
"""Prefixes of ids and signatures of other providers.

Some gateways write them under the key of the thought signature.
"""
_MIN_SIGNATURE_LENGTH = 12
"""Minimum length of a thought signature in characters.

Gemini answers shorter ones with ``Corrupted thought signature``.
"""


def read_part(native: Native) -> Part:
    """Read one item of a content list."""
    if isinstance(native, str):
        return Text(native, native)
    if not isinstance(native, dict):
        return Opaque(native)
    kind = native.get("type")
    text = native.get("text")
    if isinstance(text, str) and (kind is None or (isinstance(kind, str) and kind in TEXTS)):
        return Text(text, native)
    if (thought := _read_thinking(native, kind)) is not None:
        return thought
    if isinstance(kind, str) and kind in MEDIA:
        return Media(native, MEDIA[kind])
    return _read_untyped(native)


def _read_untyped(native: dict[str, object]) -> Part:
    """Read a part whose type does not tell what it holds."""
    if find_picture(native):
        return Media(native)
    held = find_attachment(native)
    return Opaque(native) if held is None else Media(native, held.kind)


def _read_thinking(native: dict[str, object], kind: object) -> Thinking | None:
    """Read a part as thinking; None if it is not thinking."""
    if kind == "thinking" and not isinstance(native.get("thinking"), list):  # Mistral has a list
        return _read_thinking_block(native)
    if kind == "reasoning":
        # LangChain and the AI SDK store it as a text.
        plain = next((native[key] for key in ("reasoning", "text") if native.get(key)), None)
        text = plain if isinstance(plain, str) else reasoning_text(native)
        return Thinking(text, native=native)
    if kind == "redacted_thinking":
        data = native.get("data")
        return Thinking("", data if isinstance(data, str) else None, redacted=True, native=native)
    return None


def file_id(native: object) -> str | None:
    """Return the ``file_id`` of a ``file`` part; None if the part has no reference to a file."""
    file = native.get("file") if isinstance(native, dict) and native.get("type") == "file" else None
    found = file.get("file_id") if isinstance(file, dict) else None
    return found if isinstance(found, str) and found else None


def reasoning_text(native: dict[str, object]) -> str:
    """Return the unencrypted text of an OpenAI reasoning item."""
    listed = [native.get(key) for key in ("summary", "content")]
    parts = [part for value in listed if isinstance(value, list) for part in value]
    return "\n\n".join(str(part.get("text")) for part in parts if isinstance(part, dict))


def is_thought_signature(value: object) -> bool:
    """Return whether a value can be a Gemini thought signature.

    It must be base64 text that is long enough, does not begin like an id of another provider, and
    does not have the form of Claude's signatures; or its bytes, as google-genai has them.
    """
    if isinstance(value, bytes):
        value = encode_base64(value)
    return (
        isinstance(value, str)
        and len(value) >= _MIN_SIGNATURE_LENGTH
        and not value.startswith(_FOREIGN_PREFIXES)
        and is_base64(value)
        and not is_claude_signature(value)
    )


def signature_of(call: dict[str, object]) -> object:
    """Return the thought signature of a call, under LiteLLM's key or Google's.

    LiteLLM reads its key in the call, then in the function of the call.
    """
    if not _SIGNATURE_HOLDERS.isdisjoint(call):
        extra = call.get("extra_content")
        google = extra.get("google") if isinstance(extra, dict) else None
        if isinstance(google, dict) and "thought_signature" in google:
            return google["thought_signature"]
        fields = call.get("provider_specific_fields")
        if isinstance(fields, dict) and "thought_signature" in fields:
            return fields["thought_signature"]
    function = call.get("function")
    inner = function.get("provider_specific_fields") if isinstance(function, dict) else None
    return inner.get("thought_signature") if isinstance(inner, dict) else None


def signature_in_id(call_id: object) -> str | None:
    """Return the thought signature at the end of a call's id; None if there is no valid one.

    Clients that shorten ids, or replace characters in them by ``_`` or ``-``, leave an invalid
    rest of it (BerriAI/litellm#38333): Gemini's own signatures are padded and have neither.
    """
    if not isinstance(call_id, str) or ID_SEPARATOR not in call_id:
        return None
    signature = call_id.split(ID_SEPARATOR, 1)[1]
    is_whole = len(signature) % 4 == 0 and "_" not in signature and "-" not in signature
    return signature if is_whole and is_thought_signature(signature) else None


def _read_thinking_block(native: dict[str, object]) -> Thinking:
    text = native.get("thinking")
    if text is not None and not isinstance(text, str):
        return Thinking("", native=native)  # providers sign only text
    found = (native[key] for key in SIGNATURES if native.get(key))
    signature = next((value for value in found if isinstance(value, str)), None)
    # The text is missing where a client stored thinking that the provider had omitted.
    return Thinking(text or "", signature, native=native)


def original_if_same(
    out: dict[str, object], message: Message, read: Callable[[Native], Message]
) -> Native:
    """Return the native object of a message if ``out`` is equivalent to it; else ``out``."""
    native = message.native
    if not isinstance(native, dict):
        return out
    if has_lost_numbers(native, out):
        return out
    if is_same(out, native) or (out.keys() != native.keys() and is_same(read(native), message)):
        return native
    return out


def keys_with_role(message: Message) -> dict[str, object]:
    """Return the kept keys of a message after its role; results are sent by the user."""
    role: object = Role.USER if message.role is Role.TOOL else message.role
    if message.native_role not in (None, message.role):
        role = message.native_role
    out = {"role": str(role) if isinstance(role, Role) else role}
    return out | {key: value for key, value in message.kept_keys.items() if key != "role"}


def read_parts_key(
    message: Message, read: Callable[[Native], Part] = read_part
) -> tuple[Message, ...]:
    """Read ``parts``, as Gemini's messages have them, into a message of a dialect with ``content``.

    Empty if the message has content, or no parts: a list, a single part or a string. Blank content
    is not kept.
    """
    native = message.native
    if (
        not isinstance(native, dict)
        or not isinstance(held := native.get("parts"), list | dict | str)
        or not held
        or not message.has_blank_content
    ):
        return ()
    listed = [held] if isinstance(held, dict) else held
    kept = {key: value for key, value in native.items() if key not in ("parts", "content")}
    others = [part for part in message.parts if isinstance(part, Thinking | ToolCall)]
    return (replace(message, parts=(*others, *read_content(listed, read)), native=kept),)


def read_content(native: Native, read: Callable[[Native], Part] = read_part) -> tuple[Part, ...]:
    """Read a ``content``: a string, a list, null or a value that cannot be read."""
    if isinstance(native, str):
        return (Text(native, native),) if native else ()
    if isinstance(native, list):
        return tuple(map(read, native))
    return () if native is None else (Opaque(native),)


def write_part(part: Part) -> Native:
    """Write one part as an item of a content list; an unchanged part returns its native object."""
    match part:
        case Text(text, native):
            if isinstance(native, dict):
                return native if native.get("text") == text else {**native, "text": text}
            return {"type": "text", "text": text}
        case Thinking(native=native) if native is not None:
            return native
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case _:
            return part.native


def write_content(
    parts: tuple[Part, ...],
    native: Native,
    write: Callable[[Part], Native] = write_part,
    *,
    plain: bool = True,
) -> Native:
    """Write parts as a ``content``, in the form of ``native`` (string or list) if possible.

    ``plain``: a single text that was not read from a part is written as a string.
    """
    if isinstance(native, list):
        blocks = [
            item if _is_item(part, item) else write(part)
            for part, item in zip(parts, native, strict=False)
        ]
        blocks += [write(part) for part in parts[len(native) :]]
        same = is_unchanged(blocks, native)
        return native if same else blocks
    if not parts:
        return native if native is None or native == "" else ""
    if len(parts) == 1:
        (part,) = parts
        if isinstance(part, Opaque) and part.native is native:
            return native
        if plain and isinstance(part, Text) and not isinstance(part.native, dict):
            return native if part.text == native else part.text
    return [write(part) for part in parts]


def _is_item(part: Part, item: Native) -> bool:
    """Return whether a part was read from this list item, a string, and is unchanged."""
    return (
        isinstance(part, Text)
        and isinstance(item, str)
        and part.native is item
        and part.text == item
    )
