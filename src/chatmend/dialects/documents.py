"""PDF documents in content parts of every wire format: finds them and converts them to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from chatmend.images.payload import Payload, encode_base64, payload_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.transcript import Native

PDF = "application/pdf"
DOCUMENT_KEYS = frozenset(
    {"source", "file", "file_data", "document", "inlineData", "inline_data", "data", "base64"}
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
_Field: TypeAlias = tuple[str, object, str, object, object]
"""Where data may be: shape, holder, key, media type, and the name of the document."""
_UNNAMED = "document.pdf"
_KEPT = ("cache_control", "cachePoint")


@dataclass(frozen=True, slots=True)
class Document:
    """A PDF whose data is part of the request."""

    payload: Payload
    name: str
    """The name that the message gives; empty if it has none."""
    shape: str
    """How the part holds the document, named as in `Picture.shape`.

    ``source`` (Anthropic), ``file`` (OpenAI), ``input`` (OpenAI's Responses API), ``bedrock``,
    ``inline`` (Gemini) or ``flat`` (LangChain).
    """


def find_document(native: Native) -> Document | None:
    """Return the PDF in a content part; None if the part holds none, or only names a file."""
    if not isinstance(native, dict):
        return None
    for shape, holder, key, label, name in _fields(native):
        if not isinstance(holder, dict) or not isinstance(holder.get(key), str | bytes):
            continue
        payload = payload_of(holder[key], label)
        if payload is not None and payload.label == PDF:
            return Document(payload, name if isinstance(name, str) else "", shape)
    return None


def _fields(native: dict[str, Any]) -> tuple[_Field, ...]:
    """Return where a part of its type may hold data."""
    kind = native.get("type")
    if isinstance(kind, str):
        return _BY_TYPE[kind](native) if kind in _BY_TYPE else ()
    return _without_type(native)


def _block(native: dict[str, Any]) -> tuple[_Field, ...]:
    """Anthropic's document."""
    source = native.get("source")
    label = source.get("media_type") if isinstance(source, dict) else None
    return (("source", source, "data", label, native.get("title")),)


def _file(native: dict[str, Any]) -> tuple[_Field, ...]:
    """A file of OpenAI or of LangChain."""
    file = native.get("file")
    if isinstance(file, dict):
        return (("file", file, "file_data", file.get("format"), file.get("filename")),)
    label = native.get("mime_type", native.get("mimeType"))
    name = native.get("filename", native.get("name"))
    return tuple(("flat", native, key, label, name) for key in ("base64", "data"))


def _input_file(native: dict[str, Any]) -> tuple[_Field, ...]:
    """A file of OpenAI's Responses API."""
    return (("input", native, "file_data", None, native.get("filename")),)


def _without_type(native: dict[str, Any]) -> tuple[_Field, ...]:
    """A document of Bedrock or inline data of Gemini."""
    document = native.get("document")
    if isinstance(document, dict):
        label = PDF if document.get("format") == "pdf" else None
        return (("bedrock", document.get("source"), "bytes", label, document.get("name")),)
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        label = inline.get("mimeType", inline.get("mime_type"))
        return (("inline", inline, "data", label, inline.get("displayName")),)
    return ()


_BY_TYPE: dict[str, Callable[[dict[str, Any]], tuple[_Field, ...]]] = {
    "document": _block,
    "input_file": _input_file,
    "file": _file,
    "media": _file,
}


def text_in_place_of(native: Native, text: str) -> dict[str, Any]:
    """Return a text part of the same dialect that replaces a document and keeps its marker."""
    part = native if isinstance(native, dict) else {}
    kept = {key: part[key] for key in _KEPT if key in part}
    if "type" not in part:
        return {"text": text} | kept
    kind = "input_text" if str(part["type"]).startswith("input_") else "text"
    return {"type": kind, "text": text, **kept}


def convert_document(native: Native, document: Document, shape: str) -> dict[str, Any] | None:
    """Return the part in another shape, with its cache marker; None if that is impossible."""
    part = native if isinstance(native, dict) else {}
    kept = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    payload, name = document.payload, document.name
    data = payload.data
    text = data[payload.start :] if isinstance(data, str) else encode_base64(data)
    file = {"file_data": f"data:{PDF};base64,{text}", "filename": name or _UNNAMED}
    match shape:
        case "source":
            title = {"title": name} if name else {}
            source = {"type": "base64", "media_type": PDF, "data": text}
            return {"type": "document", "source": source, **title, **kept}
        case "file":
            return {"type": "file", "file": file, **kept}
        case "input":
            return {"type": "input_file", **file}
        case "inline":
            return {"inlineData": {"mimeType": PDF, "data": text}}
        case "bedrock":
            source = {"bytes": text}
            return {"document": {"format": "pdf", "name": name or _UNNAMED, "source": source}}
    return None
