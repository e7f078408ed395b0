"""The ``content`` of a message in the dialects that share its shape: a string, or a list of typed parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chatmend.dialects.pictures import picture
from chatmend.jsontext import is_base64, is_same
from chatmend.transcript import Media, Opaque, Text, Thinking, is_unchanged

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
"""Where a thinking block has its signature: Anthropic's key first, then those of other routes to the same model."""
_FOREIGN = ("msg_", "rs_", "fc_", "resp_", "call_", "toolu_", "gen-", "chatcmpl", "gAAAA")
"""How ids and proofs of other providers begin, which some routes put in a signature's place."""
_SHORTEST = 12
"""Characters of the shortest thought signature; a few bytes are answered with ``Corrupted thought signature``."""
TEXTS = frozenset({"text", "input_text", "output_text"})


def read_part(native: Native) -> Part:
    """One item of a content list."""
    if isinstance(native, str):
        return Text(native, native)
    if not isinstance(native, dict):
        return Opaque(native)
    kind = native.get("type")
    text = native.get("text")
    if isinstance(text, str) and (kind is None or (isinstance(kind, str) and kind in TEXTS)):
        return Text(text, native)
    if (thought := _thought(native, kind)) is not None:
        return thought
    if isinstance(kind, str) and kind in MEDIA:
        return Media(native, MEDIA[kind])
    return Media(native) if picture(native) else Opaque(native)


def _thought(native: dict[str, object], kind: object) -> Thinking | None:
    """A part as what the model thought; None where it is something else."""
    if kind == "thinking" and not isinstance(native.get("thinking"), list):  # a list is Mistral's
        return _thinking(native)
    if kind == "reasoning":
        return Thinking(reasoning_text(native), native=native)
    if kind == "redacted_thinking":
        data = native.get("data")
        return Thinking("", data if isinstance(data, str) else None, redacted=True, native=native)
    return None


def file_id(native: object) -> str | None:
    """What a part of the type ``file`` calls its file, where it refers to one instead of holding it."""
    file = native.get("file") if isinstance(native, dict) and native.get("type") == "file" else None
    found = file.get("file_id") if isinstance(file, dict) else None
    return found if isinstance(found, str) and found else None


def reasoning_text(native: dict[str, object]) -> str:
    """What an entry of OpenAI's reasoning says in clear."""
    listed = [native.get(key) for key in ("summary", "content")]
    parts = [part for value in listed if isinstance(value, list) for part in value]
    return "\n\n".join(str(part.get("text")) for part in parts if isinstance(part, dict))


def is_thought_signature(value: object) -> bool:
    """Whether a value can be one of Gemini's thought signatures: base64, and no other provider's id."""
    return isinstance(value, str) and len(value) >= _SHORTEST and not value.startswith(_FOREIGN) and is_base64(value)


def signature_of(call: dict[str, object]) -> object:
    """The thought signature of a call, wherever LiteLLM or Google's OpenAI endpoint put it."""
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, dict) else None
    if isinstance(google, dict) and "thought_signature" in google:
        return google["thought_signature"]
    fields = call.get("provider_specific_fields")
    return fields.get("thought_signature") if isinstance(fields, dict) else None


def _thinking(native: dict[str, object]) -> Thinking:
    words = native.get("thinking")
    if not isinstance(words, str):
        return Thinking("", native=native)  # nobody signs what is no text
    found = (native[key] for key in SIGNATURES if native.get(key))
    signature = next((value for value in found if isinstance(value, str)), None)
    return Thinking(words, signature, native=native)


def same_or(out: dict[str, object], message: Message, read: Callable[[Native], Message]) -> Native:
    """What a message is written as: the native object that it was read from, where ``out`` says nothing else."""
    native = message.native
    if not isinstance(native, dict):
        return out
    if is_same(out, native) or (out.keys() != native.keys() and is_same(read(native), message)):
        return native
    return out


def under_parts(message: Message, read: Callable[[Native], Part] = read_part) -> tuple[Message, ...]:
    """What a message says under ``parts``, as Gemini's do, in the dialects that have ``content``."""
    native = message.native
    if not isinstance(native, dict) or native.get("content") is not None or not isinstance(native.get("parts"), list):
        return ()
    kept = {key: value for key, value in native.items() if key not in ("parts", "content")}
    return (replace(message, parts=(*message.parts, *read_content(native["parts"], read)), native=kept),)


def server_call(native: Native) -> str | None:
    """The id of a call of a tool that the provider runs itself, where a block is one (Anthropic)."""
    kind = native.get("type") if isinstance(native, dict) else None
    return _id_of(native, "id") if kind in ("server_tool_use", "mcp_tool_use") else None


def server_result(native: Native) -> str | None:
    """The id of the call that a block answers, where it is the result of such a tool (``web_search_tool_result``)."""
    kind = native.get("type") if isinstance(native, dict) else None
    return _id_of(native, "tool_use_id") if isinstance(kind, str) and kind.endswith("_tool_result") else None


def _id_of(native: Native, key: str) -> str | None:
    value = native.get(key) if isinstance(native, dict) else None
    return value if isinstance(value, str) else None


def read_content(native: Native, read: Callable[[Native], Part] = read_part) -> tuple[Part, ...]:
    """The parts of a ``content``: string, list, null, or something unreadable."""
    if isinstance(native, str):
        return (Text(native, native),) if native else ()
    if isinstance(native, list):
        return tuple(map(read, native))
    return () if native is None else (Opaque(native),)


def write_part(part: Part) -> Native:
    """One part as an item of a content list: the native object itself where nothing in it changed."""
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
    parts: tuple[Part, ...], native: Native, write: Callable[[Part], Native] = write_part, *, plain: bool = True
) -> Native:
    """The parts as a ``content``, in the shape of ``native`` where that can hold them.

    ``plain`` lets a single text of ours be a string.
    """
    if isinstance(native, list):
        blocks = [item if _is_item(part, item) else write(part) for part, item in zip(parts, native, strict=False)]
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
    """Whether a part stands for a list item that is a bare string, unchanged."""
    return isinstance(part, Text) and isinstance(item, str) and part.native is item and part.text == item
