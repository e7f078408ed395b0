"""Images in content parts of every wire format: finds, replaces and converts them.

A message may hold image parts of any dialect: applications mix them, and adapters convert them
later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from chatmend.images.payload import (
    Payload,
    payload_of_data,
    payload_of_url,
    standard_base64,
)

if TYPE_CHECKING:
    from chatmend.transcript import Native

_Part = dict[str, Any]
_WITHOUT_LINKS = ("bedrock", "flat")
"""Shapes that hold only the data of an image, never a link."""
LISTED = "images"
"""Key of Ollama's messages that holds a list of images, each as base64 text."""
_HOLDERS = ("url", "data", "base64", "image", "image_url", "file_id", "id", "path")
"""Keys of an image part itself that hold or name an image: LangChain, MCP, Vercel, Hugging Face."""
_FILE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".heic", ".avif")
"""Endings of a text in ``images`` that is the path of a file: base64 has no full stop.

``ollama.Client`` takes the first four for a path (ollama 0.6.3: ``Image.serialize_model``), and
reads any other text as a path if that file exists.
"""
_LONGEST_ENDING = 5
_FORMATS = {"jpg": "jpeg"}
_ANY_BYTES = "application/octet-stream"
_LONGEST_SCHEME = 16
"""The ``://`` of a link ends within its first characters."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a content part."""

    shape: str
    """How the part holds the image.

    - ``url``: ``image_url`` is the URL
    - ``input``: the same in an ``input_image`` of OpenAI's Responses API
    - ``url-object``: ``image_url.url`` is the URL
    - ``source``: an ``image`` block of Anthropic
    - ``inline``: ``inlineData`` of Gemini
    - ``bedrock``: ``image`` of Bedrock's Converse API
    - ``flat``: data and media type are keys of the part itself
    - ``file``: a data URL in a ``file`` part
    """
    payload: Payload | None
    """None for a link or a file id, which is never fetched or changed."""
    detail: object = None
    """The resolution that the part asks for (OpenAI's ``detail``)."""


def is_image(native: Native) -> bool:
    """Return whether the keys of a part without a ``type`` show that it is an image."""
    if not isinstance(native, dict):
        return False
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        return _is_image_type(inline.get("mimeType", inline.get("mime_type")))
    image = native.get("image")
    return (
        "type" not in native and isinstance(image, dict) and isinstance(image.get("source"), dict)
    )


def has_image_data(native: _Part) -> bool:
    """Return whether an image part names or holds an image: a URL, data, or a file."""
    if native.get("type") == "image_url":
        url = native.get("image_url")
        return isinstance(url.get("url") if isinstance(url, dict) else url, str)
    source = native.get("source")
    if not isinstance(source, dict):
        return bool(source) or any(native.get(key) is not None for key in _HOLDERS)
    if source.get("type") == "base64":
        return isinstance(source.get("data"), str | bytes)
    return any(value is not None for key, value in source.items() if key != "type")


def _is_image_type(label: object) -> bool:
    return isinstance(label, str) and label.lower().startswith("image/")


def listed_part(image: object) -> _Part | None:
    """Return an item of Ollama's ``images`` as a content part; None if it holds no image.

    Ollama accepts only base64 text, so a data URL or a link is a part of another format. What only
    ``ollama.Client`` reads is under ``path``: it is never read here, nor changed.
    """
    if isinstance(image, str) and (_is_url(image) or "://" in image[:_LONGEST_SCHEME]):
        return {"type": "image_url", "image_url": image}
    if isinstance(image, str):
        is_path = image[-_LONGEST_ENDING:].lower().endswith(_FILE_ENDINGS)
        return {"type": "image", "path" if is_path else "data": image}
    if isinstance(image, bytes):
        return {"type": "image", "data": image}
    is_read = isinstance(image, bytearray | PathLike) or _is_of_client(type(image))
    return {"type": "image", "path": image} if is_read else None


def _is_of_client(kind: type) -> bool:
    """Return whether a class is ``ollama.Image``."""
    return kind.__name__ == "Image" and kind.__module__.partition(".")[0] == "ollama"


def find_picture(native: Native) -> Picture | None:
    """Return the image in a content part; None if it has no image."""
    if not isinstance(native, dict):
        return None
    url = native.get("image_url")
    return _find_without_url(native) if url is None else _find_by_url(native, url)


def _find_by_url(native: _Part, url: object) -> Picture:
    if isinstance(url, dict):
        return Picture(
            "url-object", payload_of_url(url.get("url"), url.get("format")), url.get("detail")
        )
    shape = "input" if native.get("type") == "input_image" else "url"
    return Picture(shape, payload_of_url(url), native.get("detail"))


def _find_without_url(native: _Part) -> Picture | None:
    kind = native.get("type")
    source = native.get("source")
    if kind == "image" and isinstance(source, dict):
        # Anthropic requires the media type: a missing one counts as wrong.
        label = source.get("media_type") or ""
        if source.get("type") == "url":
            return Picture("source", _in_place_of_url(source.get("url")))
        return Picture("source", _in_source(source, label))
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        return _find_inline(inline)
    if is_image(native):
        image = native["image"]
        form = image.get("format")
        label = f"image/{_FORMATS.get(form, form)}" if isinstance(form, str) else None
        return Picture("bedrock", payload_of_data(image["source"].get("bytes"), label))
    if kind in ("image", "media"):
        return _find_flat(native)
    return _find_in_file(native)


def _in_source(source: _Part, label: object) -> Payload | None:
    """Return the data in a source of Anthropic, which may lack its type."""
    kind = source.get("type")
    if kind not in ("base64", None):
        return None
    found = payload_of_data(source.get("data"), label)
    return found if found is None or kind else replace(found, is_exact=False)


def _find_inline(inline: _Part) -> Picture | None:
    """Return the image in Gemini's data. The media type is required: a missing one is wrong."""
    label = inline.get("mimeType", inline.get("mime_type"))
    is_labelled = _is_image_type(label)
    if is_media_type(label) and not is_labelled:
        return None
    payload = payload_of_data(inline.get("data"), label if isinstance(label, str) else "")
    return Picture("inline", payload) if is_labelled or is_unlabelled_image(payload) else None


def is_media_type(label: object) -> bool:
    """Return whether a label states a type: ``png`` and ``application/octet-stream`` do not."""
    return isinstance(label, str) and "/" in label and label.lower() != _ANY_BYTES


def is_unlabelled_image(payload: Payload | None) -> bool:
    """Return whether data without a media type begins as an image."""
    return payload is not None and payload.probe().media_type.startswith("image/")


def _label_key(key: str, held: _Part) -> str:
    """Return the key of the media type of Gemini's data, in the spelling of the part."""
    for label in ("mimeType", "mime_type"):
        if label in held:
            return label
    return "mimeType" if key == "inlineData" else "mime_type"


def _in_place_of_url(url: object) -> Payload | None:
    """Return the data in a field that may hold only a link."""
    found = payload_of_url(url)
    return found and replace(found, is_exact=False)


def _find_flat(native: _Part) -> Picture | None:
    label = native.get("mime_type", native.get("media_type", native.get("mimeType")))
    if native["type"] == "media" and not _is_image_type(label):
        return None
    for key in ("data", "base64", "url"):
        if isinstance(native.get(key), str | bytes):
            found = (payload_of_url if key == "url" else payload_of_data)(native[key], label)
            return Picture(
                "flat",
                None if key == "url" and found is not None and not _is_url(native[key]) else found,
            )
    return Picture("flat", None)


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value[:5].lower() == "data:"


def _find_in_file(native: _Part) -> Picture | None:
    file = native.get("file")
    data = (
        file.get("file_data") if native.get("type") == "file" and isinstance(file, dict) else None
    )
    return (
        Picture("file", payload_of_url(data))
        if isinstance(data, str) and data[:11].lower() == "data:image/"
        else None
    )


def replace_image(native: _Part, found: Picture, text: str, media_type: str) -> _Part:
    """Return the part with another image, given as base64 ``text``. All other keys are kept."""
    payload = found.payload
    if payload and isinstance(payload.data, bytes) and payload.is_exact and found.shape != "url":
        data: str | bytes = Payload(text).decode()
    else:
        data = text
    url = f"data:{media_type};base64,{text}"
    becomes: _Part
    match found.shape:
        case "url-object":
            inner = {**native["image_url"], "url": url}
            becomes = {"image_url": {**inner, "format": media_type} if "format" in inner else inner}
        case "url" | "input":
            becomes = {"image_url": url}
        case "source":
            becomes = {"source": _source_with(native["source"], media_type, data)}
        case "inline":
            key = "inlineData" if "inlineData" in native else "inline_data"
            label = _label_key(key, native[key])
            becomes = {key: {**native[key], label: media_type, "data": data}}
        case "bedrock":
            source = {**native["image"]["source"], "bytes": data}
            becomes = {
                "image": {
                    **native["image"],
                    "format": media_type.removeprefix("image/"),
                    "source": source,
                }
            }
        case "file":
            becomes = {"file": {**native["file"], "file_data": url}}
        case _:
            becomes = _replace_flat(native, data, url, media_type)
    return {**native, **becomes}


def _source_with(source: _Part, media_type: str, data: str | bytes) -> _Part:
    kept = {key: value for key, value in source.items() if key != "url"}
    return {**kept, "type": "base64", "media_type": media_type, "data": data}


def _replace_flat(native: _Part, data: str | bytes, url: str, media_type: str) -> _Part:
    key = next(key for key in ("data", "base64", "url") if isinstance(native.get(key), str | bytes))
    own = [label for label in ("mime_type", "media_type", "mimeType") if label in native]
    if key == "base64" and not own:
        own = ["mime_type"]  # LangChain requires it, and the data URL that held it is gone
    return {key: url if key == "url" else data, **dict.fromkeys(own, media_type)}


def relabel_image(native: _Part, found: Picture, media_type: str) -> _Part:
    """Return the part with the same image as standard base64 and with the given media type.

    Raises:
        ValueError: the data is a text that is not base64.
    """
    payload = found.payload
    assert payload is not None  # noqa: S101 - links are never relabelled
    return replace_image(native, found, standard_base64(payload), media_type)


def replacement_text_part(native: Native, text: str, shapes: tuple[str, ...]) -> _Part:
    """Return a text part of the same dialect that replaces an image and keeps its cache marker.

    Args:
        native: the part that holds the image.
        text: the text.
        shapes: the dialect's shapes of images.
    """
    part = native if isinstance(native, dict) else {}
    kind = replacement_text_type(part.get("type"), shapes)
    if kind == "text" and is_image(part):
        return {"text": text}
    kept = {key: part[key] for key in ("cache_control", "cachePoint") if key in part}
    return {"type": kind, "text": text, **kept}


def replacement_text_type(kind: object, shapes: tuple[str, ...]) -> str:
    """Return the type of the text part that replaces a part of the type ``kind``.

    Only a dialect in which images have the shape ``input`` has parts of the type ``input_text``.
    """
    is_input = "input" in shapes and isinstance(kind, str) and kind.startswith("input_")
    return "input_text" if is_input else "text"


def convert_image(native: _Part, found: Picture, shape: str) -> _Part | None:
    """Return the image part in another shape, with its cache marker; None if that is impossible."""
    kept = {key: native[key] for key in ("cache_control",) if key in native}
    link = link_of(native) if found.payload is None else None
    if found.payload is None and (link is None or shape in _WITHOUT_LINKS):
        return None
    probe = found.payload.probe() if found.payload is not None else None
    label = (found.payload.label if found.payload else None) or (probe.media_type if probe else "")
    text = link or _encoded_text(found.payload)
    url = text if link else f"data:{label};base64,{text}"
    part: _Part
    match shape:
        case "bedrock":
            form = label.removeprefix("image/")
            return {"image": {"format": form, "source": {"bytes": text}}}
        case "flat":
            return {"type": "image", "data": text}
        case "inline":
            held = {"mimeType": label, "data": text}
            return {"fileData": {"fileUri": text}} if link else {"inlineData": held}
        case "source":
            data = {"type": "base64", "media_type": label, "data": text}
            part = {"type": "image", "source": {"type": "url", "url": text} if link else data}
        case "input":
            part = {"type": "input_image", "image_url": url}
        case _:
            detail = {} if found.detail is None else {"detail": found.detail}
            part = {"type": "image_url", "image_url": {"url": url, **detail}}
    return part | kept


def _encoded_text(payload: Payload | None) -> str:
    """Return the data of an image as standard base64; text that is not base64 is unchanged."""
    if payload is None:
        return ""
    try:
        return standard_base64(payload)
    except ValueError:
        return str(payload.data)[payload.start :]


def link_of(native: _Part) -> str | None:
    """Return the URL of an image that is not part of the request; None if there is none."""
    found = _holder_of_link(native)
    return None if found is None else str(found[0][found[1]])


def with_link(native: _Part, link: str) -> _Part:
    """Return an image part with another URL; all other keys are kept."""
    found = _holder_of_link(native)
    if found is None:
        return native
    holder, key, name = found
    changed = {**holder, key: link}
    return changed if name is None else {**native, name: changed}


def _holder_of_link(native: _Part) -> tuple[_Part, str, str | None] | None:
    """Return the object with the URL, the key of the URL, and the key of the object in the part."""
    for name in (None, "image_url", "source"):
        holder = native if name is None else native.get(name)
        if isinstance(holder, dict):
            for key in ("url", "image_url"):
                if isinstance(holder.get(key), str):
                    return holder, key, name
    return None
