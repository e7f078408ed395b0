"""LangChain's content blocks, and those of providers in its messages: what they hold, and as text.

Another block type that expresses the same content is preferred to text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeAlias

from chatmend import jsontext
from chatmend.dialects.attachments import ATTACHMENT_KEYS
from chatmend.dialects.pictures import convert_image, find_picture
from chatmend.images.payload import payload_of

RequiredKeys: TypeAlias = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""For each type of entry, the keys that it must have, and those of them that may be null."""
_PDF = "JVBERi"
"""The base64 of ``%PDF``."""
_BINARY_KEYS = frozenset({"base64", "data", "file_data", "bytes"})
"""Keys that hold encoded bytes."""
_HEAD, _LONG = 100, 1000
"""In how many characters the head of a data URL ends; how long an encoded file is at least."""
_LINKABLE_TYPES = frozenset({"image", "audio", "video", "file", "text-plain"})
"""Types of LangChain's own blocks that may have a ``url``."""
_FORMS = {"base64": "base64", "file_id": "id", "url": "url", "text": "text"}
"""The keys of LangChain's own blocks that hold an image or a file, and the form of each.

If a block has several of them, converters read the first one.
"""
_OLD_KEYS = {"base64": "data", "url": "url", "id": "id", "text": "text"}
"""The key that holds it in older blocks, by their ``source_type``."""
_OWN_KEYS = ATTACHMENT_KEYS | {"image_url"}
"""The keys that hold it in the formats of providers."""
_MEDIA_TYPES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/pdf",
    "text-plain": "text/plain",
}
"""LangChain's own blocks that need a media type, with the usual one."""
_TEXT_KEYS = {
    "input_text": "text",
    "output_text": "text",
    "text-plain": "text",
    "refusal": "refusal",
}
"""Block types that contain only text, with the key of the text."""


def convert_to_text(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a block to a text block: its text if it contains only text, otherwise its JSON.

    Bytes are left out of the JSON.
    """
    text = find_text(block)
    return {
        "type": "text",
        "text": jsontext.dumps(without_binary(block)) if text is None else text,
    }


def find_text(block: dict[str, Any]) -> str | None:
    """Return the text of a block that contains only text; None for any other block.

    Title and context of a text file precede its text.
    """
    kind = block.get("type")
    found = block.get(_TEXT_KEYS.get(kind, "text") if isinstance(kind, str) else "text")
    if isinstance(found, str) and (not isinstance(kind, str) or kind in _TEXT_KEYS):
        return _with_title(found, block) if kind == "text-plain" else found
    encoded = block.get("base64")
    if kind == "text-plain" and isinstance(encoded, str):
        try:
            return _with_title(base64.b64decode(encoded, validate=True).decode(), block)
        except (binascii.Error, ValueError):
            return None
    return None


def _with_title(text: str, block: dict[str, Any]) -> str:
    """Return the text of a document behind its title and its context, as far as it has them."""
    holders = [held for held in (block, block.get("metadata"), block.get("extras")) if held]
    title, context = (
        next((held[key] for held in holders if isinstance(held, dict) and held.get(key)), None)
        for key in ("title", "context")
    )
    if not isinstance(title, str) and not isinstance(context, str):
        return text
    head = f"Document {title}:" if isinstance(title, str) else "Document:"
    lines = [f"Context: {context}"] if isinstance(context, str) else []
    return "\n".join([head, *lines, text])


def find_form(block: dict[str, Any]) -> str:
    """Return the form in which a block holds an image or a file; empty if it holds none.

    ``base64``, ``url``, ``id`` (of an uploaded file) or ``text`` for LangChain's own blocks, of any
    version; ``own`` for blocks in the format of a provider.
    """
    form = block.get("source_type")
    if isinstance(form, str) and form in _OLD_KEYS:
        key = _OLD_KEYS[form]
    else:
        key, form = next(((k, f) for k, f in _FORMS.items() if k in block), ("", "own"))
    if form == "own":
        return form if any(map(block.get, _OWN_KEYS)) else ""
    held = block.get(key)
    return form if held or (form == "text" and held == "") else ""


def has_bytes(block: dict[str, Any]) -> bool:
    """Return whether a block holds a file or a recording as encoded bytes."""
    return bool(without_binary(block) != block)


def without_binary(value: Any, depth: int = 4) -> Any:  # noqa: ANN401 - any JSON value
    """Copy a block without binary data."""
    if not isinstance(value, dict) or not depth:
        return value
    kept = {
        key: item
        for key, item in value.items()
        if key not in _BINARY_KEYS and not isinstance(item, bytes) and not _is_encoded(item)
    }
    return {key: without_binary(item, depth - 1) for key, item in kept.items()}


def _is_encoded(value: object) -> bool:
    """Return whether a value is a data URL, or a long base64 text under a key of any name."""
    if not isinstance(value, str):
        return False
    is_url = value[:5].lower() == "data:" and ";base64," in value[:_HEAD]
    return is_url or (len(value) >= _LONG and jsontext.is_base64(value))


def is_data_link(block: dict[str, Any]) -> bool:
    """Return whether the link of a block is a data URL."""
    url = block.get("url")
    return (
        isinstance(url, str)
        and url[:5].lower() == "data:"
        and jsontext.is_one_of(block.get("type"), _LINKABLE_TYPES)
    )


def inline_data_url(block: dict[str, Any]) -> dict[str, Any]:
    """Replace the data URL of a block by its data; unchanged if it is not base64."""
    head, _, data = block["url"].partition(",")
    kind, *parameters = head[5:].split(";")
    if "base64" not in parameters:
        return block
    kept = {key: value for key, value in block.items() if key not in ("url", "source_type")}
    return {
        **kept,
        "base64": data,
        "mime_type": kind or block.get("mime_type") or "application/octet-stream",
    }


def convert_source(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a block with Anthropic's ``source`` to a block of OpenAI or LangChain.

    Unchanged if the source does not contain the data.
    """
    source = block["source"]
    if block.get("type") == "image":
        found = find_picture(block)
        return (convert_image(block, found, "url-object") if found else None) or block
    data, kind = source.get("data"), source.get("media_type")
    if source.get("type") == "text" and isinstance(data, str):
        return {"type": "text", "text": _with_title(data, block)}
    if source.get("type") == "base64" and isinstance(data, str) and isinstance(kind, str):
        return {"type": "file", "base64": data, "mime_type": kind}
    return block


_MCP_TYPES = frozenset({"image", "audio"})


def with_media_type(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block of LangChain with the media type of its data; unchanged if it has one."""
    data = block.get("base64")
    if (
        not data
        or block.get("mime_type")
        or not jsontext.is_one_of(block.get("type"), _MEDIA_TYPES.keys())
    ):
        return block
    kind = _MEDIA_TYPES[block["type"]]
    payload = payload_of(data)
    if block["type"] == "image" and payload is not None:
        kind = payload.probe().media_type or kind
    elif isinstance(data, str) and not data.startswith(_PDF):
        kind = "application/octet-stream" if block["type"] == "file" else kind
    return {**block, "mime_type": kind}


def from_mcp(block: dict[str, Any]) -> dict[str, Any]:
    """Return an image or a recording of MCP as a block of LangChain; other blocks unchanged."""
    data, kind = block.get("data"), block.get("mimeType")
    is_mcp = jsontext.is_one_of(block.get("type"), _MCP_TYPES) and "base64" not in block
    if not is_mcp or not isinstance(data, str) or not isinstance(kind, str):
        return block
    kept: dict[str, Any] = {key: block[key] for key in ("type", "cache_control") if key in block}
    return {**kept, "base64": data, "mime_type": kind}


def image_as_url(block: dict[str, Any]) -> dict[str, Any]:
    """Convert an image block of LangChain to one of OpenAI; unchanged if it has no image."""
    found = find_picture(block)
    return (convert_image(block, found, "url-object") if found else None) or block


def image_as_source(block: dict[str, Any]) -> dict[str, Any]:
    """Convert an image block of LangChain to one of Anthropic; unchanged if it has no image."""
    found = find_picture(block)
    return (convert_image(block, found, "source") if found else None) or block


def file_as_source(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a file block of LangChain with data to a document block of Anthropic."""
    data, kind = block.get("base64"), block.get("mime_type")
    if not isinstance(data, str) or kind != "application/pdf":
        return block
    kept = {key: block[key] for key in ("cache_control",) if key in block}
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "document", "source": source, **kept}


def file_as_link(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a file block of LangChain with a PDF or a link to a ``document_url`` of Mistral."""
    data, kind, url = block.get("base64"), block.get("mime_type"), block.get("url")
    if block.get("type") != "file":
        return block
    if isinstance(data, str) and kind == "application/pdf":
        url = f"data:{kind};base64,{data}"
    if not isinstance(url, str) or not url:
        return block
    name = name_of_file(block)
    return {
        "type": "document_url",
        "document_url": url,
        **({"document_name": name} if name else {}),
    }


def name_of_file(block: dict[str, Any]) -> str | None:
    """Return the name of a file block; None if it has none."""
    found = (
        holder.get(key)
        for holder in (block, block.get("metadata"), block.get("extras"), block.get("file"))
        if isinstance(holder, dict)
        for key in ("name", "filename")
    )
    return next((name for name in found if isinstance(name, str) and name), None)


def with_file_name(block: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a file block with another name, under the key that converters prefer."""
    held = block.get("file")
    if isinstance(held, dict):  # OpenAI's format
        return {**block, "file": {**held, "filename": name}}
    return {**block, "name": name}


def signature_of(block: dict[str, Any]) -> str | None:
    """Return the signature of a block of LangChain; None if it has none."""
    extras = block.get("extras")
    found = block.get("signature", extras.get("signature") if isinstance(extras, dict) else None)
    return found if isinstance(found, str) else None


def item_id(block: dict[str, Any]) -> str | None:
    """Return the id that OpenAI gave to the item of a block; None if it has none."""
    found = block.get("id") if isinstance(block.get("type"), str) else None
    return found if isinstance(found, str) and found else None


def without_item_id(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block without the id of its item."""
    return {key: value for key, value in block.items() if key != "id"}


def item_ids(content: list[Any]) -> set[str]:
    """Return the ids of the items in a content."""
    return {found for block in content if isinstance(block, dict) and (found := item_id(block))}


def is_generated_image(block: dict[str, Any]) -> bool:
    """Return whether langchain-openai sends an image as an item of OpenAI's image tool."""
    found = block.get("id")
    is_from_tool = isinstance(found, str) and found.startswith("ig_")
    return is_from_tool and block.get("type") == "image" and "base64" in block


def names_of_files(content: list[Any]) -> set[str]:
    """Return the names of the files in a content, and of the documents in Bedrock's format."""
    names: set[str] = set()
    for block in content:
        held = block if isinstance(block, dict) else {}
        if held.get("type") == "file" and (name := name_of_file(held)):
            names.add(name)
        document = held.get("document")
        if isinstance(document, dict) and isinstance(name := document.get("name"), str):
            names.add(name)
    return names


WRAPPER = "non_standard"
"""The type of LangChain's block that holds a block in the format of a provider."""
CACHE_POINTS = frozenset({"cachePoint", "cache_point"})
"""The keys of cache points: Bedrock's, and the one that langchain-aws translates to it."""


def is_complete(entry: object, required: RequiredKeys) -> bool:
    """Return whether an entry of a list has a type, and the keys that its type requires.

    An entry of a type that is not known counts as complete: providers add types.
    """
    kind = entry.get("type") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(kind, str):
        return False
    keys, nullable = required.get(kind, ((), ()))
    return all(key in entry and (entry[key] is not None or key in nullable) for key in keys)


def unwrap(block: dict[str, Any]) -> dict[str, Any]:
    """Return what a ``non_standard`` block of LangChain holds; other blocks unchanged."""
    value = block.get("value")
    return value if block.get("type") == WRAPPER and isinstance(value, dict) else block


def as_result_block(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return a tool result as a block of Anthropic; None if the block is no tool result.

    It may be wrapped by LangChain (``non_standard``), or be a ``toolResult`` of Bedrock.
    """
    inner = unwrap(block)
    if inner.get("type") == "tool_result":
        return inner
    held = inner.get("toolResult", inner.get("tool_result")) if len(inner) == 1 else None
    if not isinstance(held, dict):
        return None
    call_id, content = held.get("toolUseId", held.get("tool_use_id")), held.get("content")
    if not isinstance(call_id, str) or not isinstance(content, list):
        return None  # the data of an application under the same key
    failed = {"is_error": True} if held.get("status") == "error" else {}
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **failed}


def with_call_id(block: dict[str, Any], call_id: object) -> dict[str, Any]:
    """Return the call of a hosted tool with a call id; the same object if it has this id."""
    value = unwrap(block)
    if value.get("call_id") == call_id:
        return block
    renamed = {**value, "call_id": call_id}
    return renamed if value is block else {**block, "value": renamed}
