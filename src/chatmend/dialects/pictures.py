"""Where an image lies in a content part, in every wire format; how it is replaced there, and what is said in its place.

A part of any dialect may turn up in a message of any other: applications mix them, and adapters convert them later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatmend import images
from chatmend.images.payload import Payload, encoded, payload_of

if TYPE_CHECKING:
    from chatmend.transcript import Native

_Part = dict[str, Any]
_FORMATS = {"jpg": "jpeg"}


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a content part."""

    shape: str
    """``url`` (``image_url`` holds the URL), ``input`` (the same in OpenAI's Responses), ``url-object``
    (``image_url.url`` does), ``source`` (Anthropic),
    ``inline`` (Gemini), ``bedrock``, ``flat`` (data and media type beside ``type``), ``file`` (a data URL in a file
    part)."""
    payload: Payload | None
    """None for a link or the id of a file: never fetched, never touched."""
    detail: object = None


def is_image(native: Native) -> bool:
    """Whether a part without a readable type is an image by its keys."""
    if not isinstance(native, dict):
        return False
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        return _is_image_type(inline.get("mimeType", inline.get("mime_type")))
    image = native.get("image")
    return "type" not in native and isinstance(image, dict) and isinstance(image.get("source"), dict)


def is_held(native: _Part) -> bool:
    """Whether a part of type ``image_url`` has a URL at all, or one of Anthropic's its bytes."""
    if native.get("type") == "image_url":
        url = native.get("image_url")
        return isinstance(url.get("url") if isinstance(url, dict) else url, str)
    source = native.get("source")
    return not isinstance(source, dict) or source.get("type") != "base64" or isinstance(source.get("data"), str | bytes)


def _is_image_type(label: object) -> bool:
    return isinstance(label, str) and label.lower().startswith("image/")


def picture(native: Native) -> Picture | None:
    """The image in a content part; None where there is none."""
    if not isinstance(native, dict):
        return None
    url = native.get("image_url")
    return _held(native) if url is None else _linked(native, url)


def _linked(native: _Part, url: object) -> Picture:
    if isinstance(url, dict):
        return Picture("url-object", payload_of(url.get("url"), url.get("format")), url.get("detail"))
    shape = "input" if native.get("type") == "input_image" else "url"
    return Picture(shape, payload_of(url), native.get("detail"))


def _held(native: _Part) -> Picture | None:
    kind = native.get("type")
    source = native.get("source")
    if kind == "image" and isinstance(source, dict):
        label = source.get("media_type") or ""  # required there: one that is missing is a wrong one
        data = payload_of(source.get("data"), label) if source.get("type") == "base64" else None
        return Picture("source", data)
    inline = native.get("inlineData", native.get("inline_data"))
    if isinstance(inline, dict):
        label = inline.get("mimeType", inline.get("mime_type"))
        return Picture("inline", payload_of(inline.get("data"), label)) if _is_image_type(label) else None
    if is_image(native):
        image = native["image"]
        form = image.get("format")
        label = f"image/{_FORMATS.get(form, form)}" if isinstance(form, str) else None
        return Picture("bedrock", payload_of(image["source"].get("bytes"), label))
    if kind in ("image", "media"):
        return _flat(native)
    return _in_file(native)


def _flat(native: _Part) -> Picture | None:
    label = native.get("mime_type", native.get("media_type", native.get("mimeType")))
    if native["type"] == "media" and not _is_image_type(label):
        return None
    for key in ("data", "base64", "url"):
        if isinstance(native.get(key), str | bytes):
            found = payload_of(native[key], label)
            return Picture("flat", None if key == "url" and found is not None and not _is_url(native[key]) else found)
    return Picture("flat", None)


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value[:5].lower() == "data:"


def _in_file(native: _Part) -> Picture | None:
    file = native.get("file")
    data = file.get("file_data") if native.get("type") == "file" and isinstance(file, dict) else None
    return Picture("file", payload_of(data)) if isinstance(data, str) and data[:11].lower() == "data:image/" else None


def redrawn(native: _Part, found: Picture, text: str, media_type: str) -> _Part:
    """The part with another image in the same place: ``text`` is its base64. All other keys stay."""
    if found.payload is not None and isinstance(found.payload.data, bytes) and found.shape != "url":
        data: str | bytes = Payload(text).decoded()
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
            becomes = {"source": {**native["source"], "media_type": media_type, "data": data}}
        case "inline":
            key = "inlineData" if "inlineData" in native else "inline_data"
            label = "mimeType" if "mimeType" in native[key] else "mime_type"
            becomes = {key: {**native[key], label: media_type, "data": data}}
        case "bedrock":
            source = {**native["image"]["source"], "bytes": data}
            becomes = {"image": {**native["image"], "format": media_type.removeprefix("image/"), "source": source}}
        case "file":
            becomes = {"file": {**native["file"], "file_data": url}}
        case _:
            becomes = _flat_redrawn(native, data, url, media_type)
    return {**native, **becomes}


def _flat_redrawn(native: _Part, data: str | bytes, url: str, media_type: str) -> _Part:
    key = next(key for key in ("data", "base64", "url") if isinstance(native.get(key), str | bytes))
    labels: _Part = {label: media_type for label in ("mime_type", "media_type", "mimeType") if label in native}
    return {key: url if _is_url(native[key]) else data, **labels}


def relabelled(native: _Part, found: Picture, media_type: str) -> _Part:
    """The part with the same image as clean base64, under the media type that its bytes call for."""
    payload = found.payload
    assert payload is not None  # noqa: S101 - a link has no label of ours
    if isinstance(payload.data, str) and images.base64_reader(payload.data, payload.start).clean:
        return redrawn(native, found, payload.data[payload.start :], media_type)
    return redrawn(native, found, encoded(payload.decoded()), media_type)


def told(native: Native, text: str) -> _Part:
    """A text part in the place of an image, in the words of the same dialect, with its cache marker."""
    part = native if isinstance(native, dict) else {}
    kept = {key: part[key] for key in ("cache_control", "cachePoint") if key in part}
    if part.get("type") == "input_image":
        return {"type": "input_text", "text": text, **kept}
    return {"text": text} if is_image(part) else {"type": "text", "text": text, **kept}


def translated(native: _Part, found: Picture, shape: str) -> _Part | None:
    """The image in another shape, with its cache marker; None where that cannot be said."""
    kept = {key: native[key] for key in ("cache_control",) if key in native}
    link = _link(native) if found.payload is None else None
    if found.payload is None and link is None:
        return None
    probe = found.payload.probe() if found.payload is not None else None
    label = (found.payload.label if found.payload else None) or (probe.media_type if probe else "")
    text = link or encoded_text(found)
    if shape == "inline":
        if link:
            return {"fileData": {"fileUri": text}}
        return {"inlineData": {"mimeType": label, "data": text}}
    if shape == "source":
        data = {"type": "url", "url": text} if link else {"type": "base64", "media_type": label, "data": text}
        return {"type": "image", "source": data, **kept}
    url: dict[str, Any] = {"url": text if link else f"data:{label};base64,{text}"}
    if shape == "input":
        return {"type": "input_image", "image_url": url["url"], **kept}
    if found.detail is not None:
        url["detail"] = found.detail
    return {"type": "image_url", "image_url": url, **kept}


def encoded_text(found: Picture) -> str:
    """The base64 of an image's data, as it stands where it is text."""
    payload = found.payload
    if payload is None:
        return ""
    return payload.data[payload.start :] if isinstance(payload.data, str) else encoded(payload.data)


def _link(native: _Part) -> str | None:
    """The link of an image that is given by one."""
    for holder in (native, native.get("image_url"), native.get("source")):
        if isinstance(holder, dict):
            for key in ("url", "image_url"):
                if isinstance(holder.get(key), str):
                    return str(holder[key])
    return None
