"""The ``content`` of a message in the dialects that share its shape: a string, or a list of typed parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmend.jsontext import is_base64
from chatmend.transcript import Media, Opaque, Text, Thinking, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.transcript import Native, Part

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
    if kind == "thinking" and isinstance(native.get("thinking"), str):
        return _thinking(native)
    if kind == "reasoning":
        return Thinking(reasoning_text(native), native=native)
    if kind == "redacted_thinking":
        data = native.get("data")
        return Thinking("", data if isinstance(data, str) else None, redacted=True, native=native)
    if isinstance(kind, str) and kind in MEDIA:
        return Media(native, MEDIA[kind])
    return Opaque(native)


def reasoning_text(native: dict[str, object]) -> str:
    """What an entry of OpenAI's reasoning says in clear."""
    listed = [native.get(key) for key in ("summary", "content")]
    parts = [part for value in listed if isinstance(value, list) for part in value]
    return "\n\n".join(str(part.get("text")) for part in parts if isinstance(part, dict))


def is_thought_signature(value: object) -> bool:
    """Whether a value can be one of Gemini's thought signatures: base64, and no other provider's id."""
    return isinstance(value, str) and not value.startswith(_FOREIGN) and is_base64(value)


def _thinking(native: dict[str, object]) -> Thinking:
    found = (native[key] for key in SIGNATURES if native.get(key))
    signature = next((value for value in found if isinstance(value, str)), None)
    return Thinking(str(native["thinking"]), signature, native=native)


def is_same(one: object, other: object) -> bool:
    """Whether two values say the same, however deep; what is too deep to compare is another unless it is the same."""
    try:
        return one == other
    except RecursionError:
        return False


def image_url(native: Native) -> dict[str, object] | None:
    """An image block of another dialect as OpenAI writes it, or None where its shape is not known."""
    url = _url_of(native)
    return {"type": "image_url", "image_url": {"url": url}} if url else None


def image_block(native: Native) -> dict[str, object] | None:
    """An image part of another dialect as Anthropic writes it, or None where its shape is not known."""
    url = _url_of(native)
    if not url:
        return None
    head, comma, data = url.partition(",")
    if not head.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media_type = head[5:].partition(";")[0]
    if not comma or not head.endswith(";base64") or not media_type:
        return None
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


_HOLDERS = ("image_url", "source", "inlineData", "inline_data")


def _url_of(native: Native) -> str | None:
    """Where an image part of any dialect has its bytes, as a URL."""
    if not isinstance(native, dict):
        return None
    held = next((native[key] for key in _HOLDERS if key in native), native)
    if isinstance(held, str):
        return held
    if not isinstance(held, dict):
        return None
    url, media_type, data = (held.get(key) for key in ("url", "media_type", "data"))
    if isinstance(url, str):
        return url
    media_type, data = media_type or held.get("mime_type") or held.get("mimeType"), data or held.get("base64")
    return f"data:{media_type};base64,{data}" if isinstance(media_type, str) and isinstance(data, str) else None


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
