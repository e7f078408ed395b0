"""Documents in content parts of every wire format: finds them and converts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.dialects.attachments import find_attachment
from chatmend.dialects.media_types import FORMAT_OF_TYPE, PDF, PLAIN, is_text_type
from chatmend.dialects.pictures import replacement_text_type
from chatmend.images.payload import encode_base64

if TYPE_CHECKING:
    from chatmend.images.payload import Payload
    from chatmend.transcript import Native

DOCUMENT_KEYS = frozenset(
    {
        *("source", "file", "file_data", "document", "inlineData", "inline_data"),
        *("data", "base64", "url", "document_url"),
    }
)
"""Every part with the data of a document has at least one of these keys."""
DOCUMENT_SHAPES = {
    "source": "source",
    "inline": "inline",
    "bedrock": "bedrock",
    "url-object": "file",
    "input": "input",
}
"""The shape of documents in a dialect, by the first of its shapes of images."""
_UNNAMED = "document"
_KEPT = ("cache_control", "cachePoint")
_TYPELESS = ("inline", "bedrock")
"""Shapes of the dialects whose parts have no ``type``."""
STORED_UNDER = {
    "source": ("source",),
    "inline": ("fileData", "file_data"),
    "file": ("file",),
    "input": ("file_id",),
    "bedrock": ("document", "video", "audio", "image"),
}
"""The keys of a part that names a stored file, by the dialect's shape of documents."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose data is part of the request."""

    payload: Payload
    name: str
    """The name that the message gives; empty if it has none."""
    shape: str
    """How the part holds the document; see `Attachment.shape`."""
    media_type: str
    """The media type that the message gives; empty if it is not known."""

    @property
    def is_called_pdf(self) -> bool:
        """Whether the message says that the document is a PDF."""
        return self.media_type == PDF


def find_document(native: Native) -> Document | None:
    """Return the document in a content part; None if it holds none, or only names a file."""
    found = find_attachment(native)
    if found is None or found.payload is None or found.kind != "document":
        return None
    return Document(found.payload, found.name, found.shape, found.media_type)


def is_mislabelled_text(native: Native) -> bool:
    """Return whether a block of Anthropic gives a document as text, but not as ``text/plain``."""
    part = native if isinstance(native, dict) else {}
    source = part.get("source")
    if not isinstance(source, dict) or part.get("type") != "document":
        return False
    is_text = source.get("type") == "text" and isinstance(source.get("data"), str)
    return is_text and source.get("media_type") != PLAIN


def text_in_place_of(native: Native, text: str, image_shapes: tuple[str, ...]) -> dict[str, Any]:
    """Return a text part of the same dialect that replaces a file and keeps its marker.

    Args:
        native: the part that holds the file.
        text: the text.
        image_shapes: the dialect's shapes of images.
    """
    part = native if isinstance(native, dict) else {}
    kept = {key: part[key] for key in _KEPT if key in part}
    if "type" not in part:
        return {"text": text} | kept
    return {"type": replacement_text_type(part["type"], image_shapes), "text": text, **kept}


def is_of_dialect(native: Native, image_shape: str) -> bool:
    """Return whether a part has a ``type`` exactly if the parts of the dialect have one.

    Args:
        native: the part.
        image_shape: the first of the dialect's shapes of images.
    """
    return isinstance(native, dict) and ("type" in native) != (image_shape in _TYPELESS)


def convert_document(native: Native, document: Document, shape: str) -> dict[str, Any] | None:
    """Return the part in another shape, with its cache marker; None if that is impossible."""
    part = native if isinstance(native, dict) else {}
    kept = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    payload, name, media_type = document.payload, document.name, document.media_type or PDF
    file = {"file_data": data_url(payload, media_type), "filename": name or _name_for(media_type)}
    match shape:
        case "source" if media_type == PDF:
            title = {"title": name} if name else {}
            source = {"type": "base64", "media_type": PDF, "data": payload_text(payload)}
            return {"type": "document", "source": source, **title, **kept}
        case "file":
            return {"type": "file", "file": file, **kept}
        case "input":
            return {"type": "input_file", **file}
        case "inline":
            return {"inlineData": {"mimeType": media_type, "data": payload_text(payload)}}
        case "bedrock" if (form := _bedrock_format(media_type)) is not None:
            source = {"bytes": payload_text(payload)}
            return {"document": {"format": form, "name": name or _UNNAMED, "source": source}}
    return None


def replace_data(native: dict[str, Any], shape: str, data: str, media_type: str) -> dict[str, Any]:
    """Return a part with other data, given as standard base64; all other keys are kept.

    Args:
        native: the part.
        shape: how it holds the data.
        data: the data as base64.
        media_type: the media type of the data.
    """
    url = f"data:{media_type};base64,{data}"
    match shape:
        case "source":
            source = {"type": "base64", **native["source"], "media_type": media_type, "data": data}
            return {**native, "source": source}
        case "file":
            file = {**native["file"], "file_data": url}
            return {**native, "file": {**file, "format": media_type} if "format" in file else file}
        case "input":
            return {**native, "file_data": url}
        case "inline":
            key = "inlineData" if "inlineData" in native else "inline_data"
            label = "mimeType" if "mimeType" in native[key] else "mime_type"
            return {**native, key: {**native[key], label: media_type, "data": data}}
        case "bedrock":
            return {**native, "document": _with_bytes(native["document"], data, media_type)}
        case _:
            return _replace_flat(native, data, url, media_type)


def _with_bytes(document: dict[str, Any], data: str, media_type: str) -> dict[str, Any]:
    form = _bedrock_format(media_type) or document.get("format")
    return {**document, "format": form, "source": {**document["source"], "bytes": data}}


def _replace_flat(native: dict[str, Any], data: str, url: str, media_type: str) -> dict[str, Any]:
    if native.get("type") in ("document_url", "file_url"):
        key = native["type"]
        return {
            **native,
            key: {**native[key], "url": url} if isinstance(native[key], dict) else url,
        }
    key = next(key for key in ("base64", "data", "file_data", "url") if _holds_data(native, key))
    labels: dict[str, Any] = {
        name: media_type for name in ("mime_type", "mimeType", "media_type") if name in native
    }
    return {**native, key: url if key == "url" else data, **labels}


def _holds_data(native: dict[str, Any], key: str) -> bool:
    return isinstance(native.get(key), str | bytes)


def data_url(payload: Payload, media_type: str) -> str:
    """Return data as a data URL."""
    return f"data:{media_type};base64,{payload_text(payload)}"


def payload_text(payload: Payload) -> str:
    """Return data as base64; base64 text is returned unchanged."""
    data = payload.data
    return data[payload.start :] if isinstance(data, str) else encode_base64(data)


def is_canonical(payload: Payload) -> bool:
    """Return whether data is raw bytes, or base64 in its standard form."""
    data = payload.data
    try:
        return not isinstance(data, str) or images.base64_reader(data, payload.start).canonical
    except ValueError:
        return False


def _bedrock_format(media_type: str) -> str | None:
    return FORMAT_OF_TYPE.get(media_type, "txt" if is_text_type(media_type) else None)


def _name_for(media_type: str) -> str:
    return f"{_UNNAMED}.{FORMAT_OF_TYPE.get(media_type, 'txt')}"
