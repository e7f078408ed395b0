"""Files in content parts of every wire format: documents, audio, video, and ids of stored files.

Images with data are found by `pictures`; here an image is found only if it names a stored file.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from chatmend.dialects.media_types import PDF, is_pdf_type, media_type_of_name
from chatmend.dialects.pictures import is_media_type, is_unlabelled_image
from chatmend.images.payload import Payload, payload_of, payload_of_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.transcript import Native

_Part = dict[str, Any]
_DATA_KEYS = ("base64", "data", "file_data", "bytes", "url", "file_url")
ATTACHMENT_KEYS = frozenset(
    {
        *("source", "file", "file_data", "file_url", "file_id", "document", "document_url"),
        *("inlineData", "inline_data", "fileData", "data", "base64", "url"),
        *("input_audio", "audio", "audio_url", "video", "video_url"),
    }
)
"""Every part with an attachment has at least one of these keys."""
_ADDRESSED = ("file", "input", "link", "flat")
"""Shapes that hold data URLs."""
_BEDROCK = ("document", "video", "audio")
_LABELS = ("mime_type", "mimeType", "media_type")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a content part: its data, or what names it."""

    payload: Payload | None
    """The data in the request; None if the part only names the file."""
    media_type: str
    """The media type by the label or by the name, in lower case; empty if both are missing."""
    name: str
    """The name that the message gives; empty if it has none."""
    shape: str
    """How the part holds the file.

    ``source`` (Anthropic), ``file`` (OpenAI), ``input`` (OpenAI's Responses API), ``bedrock``,
    ``inline`` (Gemini), ``flat`` (LangChain), ``audio`` (``input_audio``), ``link`` (the part is
    named after its URL), or ``stored`` (only an id).
    """
    reference: str = ""
    """The file id, URI or URL; empty if the part holds the data."""
    text: str | None = None
    """The content, if the part holds it as text."""

    @property
    def kind(self) -> str:
        """Return ``audio``, ``video``, ``image`` or ``document``."""
        kind = self.media_type.partition("/")[0]
        return kind if kind in ("audio", "video", "image") else "document"


class _Found(NamedTuple):
    """What a part holds, before it is judged."""

    shape: str
    data: object
    label: object = None
    name: object = None
    text: object = None
    is_exact: bool = True
    """False if it has to be rewritten, because providers may not read it."""


def find_attachment(native: Native) -> Attachment | None:
    """Return the file in a content part; None if there is none, or an image with data."""
    if not isinstance(native, dict):
        return None
    kind = native.get("type")
    found = _BY_TYPE[kind](native) if isinstance(kind, str) and kind in _BY_TYPE else None
    # langchain-aws takes Bedrock's own document with a type.
    if found is None and (kind is None or kind == "document"):
        found = _of_bedrock(native)
    # A part of Gemini with a type is one, too: the type is removed later.
    found = found or _of_gemini(native)
    return None if found is None else _attachment_of(found)


def text_beside_file(native: _Part) -> str | None:
    """Return the text that a part with a file also holds, such as the transcript of a recording."""
    holders = (native, native.get(str(native.get("type"))))
    texts = [native.get("text")]
    texts += [held.get("transcript") for held in holders if isinstance(held, dict)]
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def file_as_block(part: _Part) -> _Part | None:
    """Return a file in a part of any format as a block of LangChain; None without its data."""
    found = find_attachment(part)
    if found is None or found.payload is None:
        return None
    data, start = found.payload.data, found.payload.start
    kept = {key: part[key] for key in ("cache_control",) if key in part}
    return {
        "type": found.kind if found.kind in ("audio", "video") else "file",
        "base64": data[start:] if isinstance(data, str) else b64encode(data).decode(),
        "mime_type": found.media_type or "application/octet-stream",
        **({"filename": found.name} if found.name else {}),
        **kept,
    }


def _attachment_of(found: _Found) -> Attachment | None:
    name = found.name if isinstance(found.name, str) else ""
    if isinstance(found.text, str):
        return Attachment(None, "text/plain", name, found.shape, text=found.text)
    label = found.label.partition(";")[0].strip().lower() if isinstance(found.label, str) else ""
    if found.shape == "stored":
        kind = label or media_type_of_name(name)
        is_named = isinstance(found.data, str) and found.data
        return Attachment(None, kind, name, "stored", str(found.data)) if is_named else None
    read = payload_of if found.shape in _ADDRESSED else payload_of_data
    payload = read(found.data, label or None)
    if payload is None:
        kind = label or media_type_of_name(name)
        given = found.data if isinstance(found.data, str) else ""
        return Attachment(None, kind, name, found.shape, given) if given else None
    if (found.label or label) != label:
        payload = replace(payload, label_spelling="capitals")
    if not found.is_exact:
        payload = replace(payload, is_exact=False)
    kind = payload.label or label
    if not kind or kind == "application/octet-stream":
        kind = media_type_of_name(name) or kind or (PDF if _begins_as_pdf(payload) else "")
    could_be_image = found.shape == "inline" and not is_media_type(kind)
    if kind.startswith("image/") or (could_be_image and is_unlabelled_image(payload)):
        return None
    return Attachment(payload, kind, name, found.shape)


def _begins_as_pdf(payload: Payload) -> bool:
    data, start = payload.data, payload.start
    head = data[start : start + 12]
    return head.lstrip().startswith("JVBERi") if isinstance(head, str) else b"%PDF-" in data[:1024]


def _label_of(part: _Part) -> object:
    return next((part[key] for key in _LABELS if isinstance(part.get(key), str)), None)


def _name_of(part: _Part) -> object:
    holders = (part, part.get("metadata"), part.get("extras"))
    return next(
        (
            holder[key]
            for holder in holders
            if isinstance(holder, dict)
            for key in ("filename", "name", "title")
            if isinstance(holder.get(key), str) and holder[key]
        ),
        None,
    )


def _block(native: _Part) -> _Found | None:
    """Anthropic's document, or an image that names a stored file."""
    source, name = native.get("source"), native.get("title")
    if not isinstance(source, dict):
        return None
    label = source.get("media_type") or ("image/" if native.get("type") == "image" else None)
    kind = source.get("type")
    is_exact = kind is not None
    match kind or ("base64" if is_pdf_type(label) else None):
        case "file":
            return _Found("stored", source.get("file_id"), label, name)
        case "text" | "content" if (text := _text_of(source)) is not None:
            return _Found("source", None, label, name, text)
        case "url":
            return _Found("source", source.get("url"), label, name)
        case "base64" if native.get("type") == "document":
            return _Found("source", source.get("data"), label, name, is_exact=is_exact)
    return None


def _text_of(source: dict[str, Any]) -> str | None:
    """Return the text of a document that is given as text or text blocks; None for any other."""
    is_text = source["type"] == "text"
    content = source.get("data" if is_text else "content")
    if isinstance(content, str):
        return content
    if is_text or not isinstance(content, list):
        return None
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    has_only_texts = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return "\n\n".join(map(str, texts)) if has_only_texts else None


def _file(native: _Part) -> _Found | None:
    """A file of OpenAI or of LangChain."""
    file = native.get("file")
    if isinstance(file, dict):
        label, name = file.get("format"), file.get("filename")
        if isinstance(file.get("file_data"), str | bytes):
            return _Found("file", file["file_data"], label, name)
        return _Found("stored", file.get("file_id"), label, name)
    return _flat(native)


def _flat(native: _Part) -> _Found | None:
    """A block of LangChain, or of another library with data and media type side by side."""
    label, name = _label_of(native), _name_of(native)
    kind = native.get("type")
    if label is None and kind in ("audio", "video", "image"):
        label = f"{kind}/"
    if native.get("source_type") == "text" and isinstance(native.get("text"), str):
        return _Found("flat", None, label, name, native["text"])
    for key in _DATA_KEYS:
        if isinstance(native.get(key), str | bytes):
            return _Found("flat", native[key], label, name)
    stored = native.get("file_id") or native.get("file_uri")
    stored = stored or (native.get("id") if native.get("source_type") == "id" else None)
    return _Found("stored", stored, label, name) if isinstance(stored, str) else None


def _input_file(native: _Part) -> _Found | None:
    """A file of OpenAI's Responses API."""
    name = native.get("filename")
    for key in ("file_data", "file_url"):
        if isinstance(native.get(key), str | bytes):
            return _Found("input", native[key], None, name)
    return _Found("stored", native.get("file_id"), None, name)


def _stored(native: _Part) -> _Found | None:
    """A part that names a stored file directly."""
    label = "image/" if native["type"] == "input_image" else None
    return _Found("stored", native.get("file_id"), label, _name_of(native))


def _image(native: _Part) -> _Found | None:
    """An image that names a stored file."""
    if isinstance(native.get("source"), dict):
        return _block(native)
    found = _flat(native)
    return found if found is not None and found.shape == "stored" else None


def _input_audio(native: _Part) -> _Found | None:
    held = native.get(native["type"])
    if isinstance(held, dict):
        form = held.get("format")
        label = f"audio/{form}" if isinstance(form, str) and form else "audio/"
        return _Found("audio", held.get("data"), label)
    return _Found("audio", held, "audio/") if isinstance(held, str | bytes) else None


def _audio(native: _Part) -> _Found | None:
    """A recording of LangChain, or one with the keys of ``input_audio``."""
    return _input_audio(native) if isinstance(native.get("audio"), dict) else _flat(native)


def _link(native: _Part) -> _Found | None:
    """A part whose type is the key of a URL, such as ``video_url``."""
    kind = native["type"]
    held = native.get(kind)
    url = held.get("url") if isinstance(held, dict) else held
    label = f"{kind.partition('_')[0]}/" if kind in ("audio_url", "video_url") else None
    return _Found("link", url, label, native.get("document_name"))


def _of_bedrock(native: _Part) -> _Found | None:
    for key in _BEDROCK:
        if isinstance(native.get(key), dict):
            return _of_bedrock_key(key, native[key])
    return None


def _of_gemini(native: _Part) -> _Found | None:
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        return _Found("inline", inline.get("data"), _label_of(inline), inline.get("displayName"))
    stored = native.get("fileData", native.get("file_data"))
    if isinstance(stored, dict):
        uri = stored.get("fileUri", stored.get("file_uri"))
        return _Found("stored", uri, _label_of(stored), stored.get("displayName"))
    return None


def _of_bedrock_key(key: str, held: _Part) -> _Found | None:
    form, name, source = held.get("format"), held.get("name"), held.get("source")
    if not isinstance(source, dict):
        return None
    label: object = f"{key}/{form}" if key != "document" and form else f"{key}/"
    if key == "document":
        label = media_type_of_name(f".{form}") if isinstance(form, str) else None
    if isinstance(source.get("text"), str):
        return _Found("bedrock", None, label, name, source["text"])
    location = source.get("s3Location")
    if isinstance(location, dict):
        return _Found("stored", location.get("uri"), label, name)
    return _Found("bedrock", source.get("bytes"), label, name)


_BY_TYPE: dict[str, Callable[[_Part], _Found | None]] = {
    "document": _block,
    "file": _file,
    "media": _flat,
    "input_file": _input_file,
    "container_upload": _stored,
    "input_image": _stored,
    "image": _image,
    "input_audio": _input_audio,
    "audio": _audio,
    "video": _flat,
    "audio_url": _link,
    "video_url": _link,
    "document_url": _link,
    "file_url": _link,
}
