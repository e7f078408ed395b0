"""Converts recordings, and ids of stored files, from one wire format to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.dialects.documents import payload_text

if TYPE_CHECKING:
    from chatmend.dialects.attachments import Attachment

_Part = dict[str, Any]
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
}
"""The ``format`` of OpenAI's ``input_audio``, by media type."""
_MEDIA_TYPES = {"audio/mp3": "audio/mpeg", "audio/": "audio/wav", "video/": "video/mp4"}


def convert_attachment(found: Attachment, shape: str) -> _Part | None:
    """Return a part with a recording or an id in the format of a dialect; None if impossible.

    Args:
        found: the recording or the stored file in a part.
        shape: the first of the dialect's shapes of images.
    """
    if found.shape == "stored":
        return _convert_reference(found, shape)
    if found.payload is None or found.kind not in ("audio", "video"):
        return None
    return _convert_recording(found, payload_text(found.payload), shape)


def _convert_recording(found: Attachment, text: str, shape: str) -> _Part | None:
    media_type = _MEDIA_TYPES.get(found.media_type, found.media_type)
    form = _AUDIO_FORMATS.get(found.media_type)
    match shape:
        case "inline":
            return {"inlineData": {"mimeType": media_type, "data": text}}
        case "bedrock":
            form = form or media_type.rpartition("/")[2]
            return {found.kind: {"format": form, "source": {"bytes": text}}}
        case "url-object" | "input" if form is not None:
            return {"type": "input_audio", "input_audio": {"data": text, "format": form}}
        case "url-object" if found.kind == "video":
            url = f"data:{media_type};base64,{text}"
            return {"type": "video_url", "video_url": {"url": url}}
    return None


def _convert_reference(found: Attachment, shape: str) -> _Part | None:
    name, media_type = found.reference, found.media_type
    is_image = found.kind == "image"
    match shape:
        case "source" if name.startswith("file_"):
            kind = "image" if is_image else "document"
            return {"type": kind, "source": {"type": "file", "file_id": name}}
        case "inline":
            label = {"mimeType": media_type} if "/" in media_type.strip("/") else {}
            return {"fileData": {**label, "fileUri": name}}
        case "input":
            return {"type": "input_image" if is_image else "input_file", "file_id": name}
        case "url-object" if not is_image:
            label = {"format": media_type} if "://" in name and media_type else {}
            return {"type": "file", "file": {"file_id": name, **label}}
    return None
