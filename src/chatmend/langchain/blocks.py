"""Converts content blocks that a partner package's converter cannot send.

``partners.toml`` lists what each converter can send. If another block type expresses the same
content, the block is converted to that type; otherwise it becomes text: its JSON without the
bytes of a recording or a document.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from chatmend import jsontext
from chatmend.changes import Effect
from chatmend.dialects.pictures import convert_image, find_picture
from chatmend.langchain.calls import is_call
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from chatmend.langchain.converter import Converter

BlockOrigin = Literal["user", "answer", "own", "result"]
"""Who wrote a block.

``user``: a user or the system. ``answer``: a model. ``own``: the target provider itself.
``result``: a tool.
"""
_BINARY_KEYS = frozenset({"base64", "data", "file_data", "bytes"})
"""Keys that hold encoded bytes."""
_LINKABLE_TYPES = frozenset({"image", "audio", "video", "file"})
"""Types of LangChain's own blocks that may have a ``url``."""
_TEXT_KEYS = {
    "input_text": "text",
    "output_text": "text",
    "text-plain": "text",
    "refusal": "refusal",
}
"""Block types that contain only text, with the key of the text."""


@dataclass(slots=True)
class BlockWriter:
    """Converts the blocks of messages and records the worst effect of the conversions."""

    converter: Converter
    allow: Effect = Effect.DROPS
    """The worst effect that the caller permits."""
    effect: Effect = Effect.RESHAPES
    """The worst effect so far."""
    is_incomplete: bool = False
    """Whether a block was not converted because the caller does not permit the effect."""

    def write_blocks(self, content: list[Any], origin: BlockOrigin) -> list[Any]:
        """Convert the blocks of a content; unchanged blocks are the same objects."""
        out: list[Any] = []
        for block in content:
            written = self._block(block, origin) if block.__class__ is dict else block
            if written is not None:
                out.append(written)
        return out

    def _block(self, block: dict[str, Any], origin: BlockOrigin) -> dict[str, Any] | None:
        converter = self.converter
        if block.get("type") == "tool_result" and origin != "result":
            return self._result(block)
        if not converter.cache_markers and "cache_control" in block:
            block = {key: value for key, value in block.items() if key != "cache_control"}
        if not converter.data_links and _is_data_link(block):
            block = _inline_data_url(block)
        if not converter.bare_urls and isinstance(block.get("image_url"), str):
            block = {**block, "image_url": {"url": block["image_url"]}}
        if converter.sources is not None and isinstance(block.get("source"), dict):
            block = block if block.get("type") in converter.sources else _convert_source(block)
        if origin in ("answer", "own") and is_call(block):
            return block
        if is_dropped(block, converter):
            return None if self.permit(Effect.DROPS) else block
        return block if is_sendable(block, origin, converter) else self.as_text(block)

    def _result(self, block: dict[str, Any]) -> dict[str, Any]:
        """Convert a tool result in a user message, and the blocks in its content."""
        keys = self.converter.result_keys
        if keys is not None and not keys.issuperset(block):
            block = {key: value for key, value in block.items() if key in keys}
        inner = block.get("content")
        if inner is None:
            return {**block, "content": ""}
        if not isinstance(inner, list):
            return block
        written_inner = self.write_blocks(inner, "result")
        return block if is_unchanged(written_inner, inner) else {**block, "content": written_inner}

    def drop_trailing_reasoning(self, blocks: list[Any], *, calls: bool) -> list[Any]:
        """Drop reasoning at the end of an assistant message without calls.

        An interrupted stream leaves such reasoning.
        """
        end = len(blocks)
        if calls or self.converter.trailing_reasoning:
            return blocks
        while (
            end
            and isinstance(last := blocks[end - 1], dict)
            and last.get("type") == "reasoning"
            and last.get("id")
        ):
            end -= 1
        return blocks[:end] if end < len(blocks) and self.permit(Effect.DROPS) else blocks

    def as_text(self, block: dict[str, Any]) -> dict[str, Any]:
        """Return a block as text; the same block if the caller does not permit it."""
        if _find_text(block) is not None:
            return convert_to_text(block)
        effect = Effect.DEGRADES if _without_binary(block) == block else Effect.DROPS
        return convert_to_text(block) if self.permit(effect) else block

    def permit(self, effect: Effect) -> bool:
        """Return whether the caller permits an effect, and record the effect if so."""
        if effect > self.allow:
            self.is_incomplete = True
            return False
        self.effect = max(self.effect, effect)
        return True


def drop_blank_texts(blocks: list[Any]) -> list[Any]:
    """Drop blank texts directly after thinking, which the converter would drop silently."""
    out: list[Any] = []
    for block in blocks:
        if not (out and _is_thinking_block(out[-1]) and _is_blank(block)):
            out.append(block)
    return blocks if len(out) == len(blocks) else out


def _is_thinking_block(block: Any) -> bool:
    return block.__class__ is dict and block.get("type") == "thinking"


def _is_blank(block: Any) -> bool:
    text = block.get("text") if block.__class__ is dict and block.get("type") == "text" else None
    return isinstance(text, str) and not text.strip()


def convert_to_text(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a block to a text block: its text if it contains only text, otherwise its JSON.

    Bytes are left out of the JSON.
    """
    text = _find_text(block)
    return {
        "type": "text",
        "text": jsontext.dumps(_without_binary(block)) if text is None else text,
    }


def is_dropped(block: dict[str, Any], converter: Converter) -> bool:
    """Return whether a block is reasoning of another provider, which this one would refuse."""
    kind = block.get("type")
    has_own_id = block.get("id") or block.get("encrypted_content")
    is_foreign = not converter.foreign_reasoning and kind == "reasoning" and not has_own_id
    is_foreign = is_foreign or (
        kind == "thinking"
        and not converter.listed_thinking
        and isinstance(block.get("thinking"), list)
    )
    return is_foreign or (isinstance(kind, str) and kind in converter.drops)


def is_sendable(block: dict[str, Any], origin: BlockOrigin, converter: Converter) -> bool:
    """Return whether the converter can send a block in a form that the provider accepts."""
    if "type" not in block:
        return origin not in converter.typed
    kind = block["type"]
    if not isinstance(kind, str) or kind in converter.refused_types(origin):
        return False
    if kind == "text" and not isinstance(block.get("text"), str):
        return False
    if (kind == "image" and not _has_image(block, converter)) or (
        kind == "text-plain" and not _has_supported_text(block, converter)
    ):
        return False
    accepted = converter.accepted_types(origin)
    return accepted is None or kind in accepted


def _has_image(block: dict[str, Any], converter: Converter) -> bool:
    if any(block.get(key) for key in ("base64", "data", "url", "image_url")):
        return True
    if "source" not in block:
        return converter.image_files and bool(
            block.get("file_id") or block.get("source_type") == "id"
        )
    return (converter.sources is None or "image" in converter.sources) and _is_complete_source(
        block["source"], converter
    )


def _is_complete_source(source: Any, converter: Converter) -> bool:
    """Return whether the source of an image contains the image or a link to it."""
    if not isinstance(source, dict):
        return False
    kind = source.get("type")
    if kind == "file":
        return converter.image_files and isinstance(source.get("file_id"), str)
    return isinstance(source.get("url" if kind == "url" else "data"), str | bytes)


def _has_supported_text(block: dict[str, Any], converter: Converter) -> bool:
    is_text_only = "text" in block and not any(key in block for key in ("base64", "data", "url"))
    return converter.plain_text == "any" or is_text_only == (converter.plain_text == "text")


def _find_text(block: dict[str, Any]) -> str | None:
    """Return the text of a block that contains only text; None for any other block."""
    kind = block.get("type")
    found = block.get(_TEXT_KEYS.get(kind, "text") if isinstance(kind, str) else "text")
    if isinstance(found, str) and (not isinstance(kind, str) or kind in _TEXT_KEYS):
        return found
    encoded = block.get("base64")
    if kind == "text-plain" and isinstance(encoded, str):
        try:
            return base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, ValueError):
            return None
    return None


def _without_binary(value: Any, depth: int = 4) -> Any:
    """Copy a block without binary data."""
    if not isinstance(value, dict) or not depth:
        return value
    kept = {
        key: item
        for key, item in value.items()
        if key not in _BINARY_KEYS and not isinstance(item, bytes)
    }
    return {key: _without_binary(item, depth - 1) for key, item in kept.items()}


def _is_data_link(block: dict[str, Any]) -> bool:
    url = block.get("url")
    return (
        isinstance(url, str)
        and url[:5].lower() == "data:"
        and jsontext.is_one_of(block.get("type"), _LINKABLE_TYPES)
    )


def _inline_data_url(block: dict[str, Any]) -> dict[str, Any]:
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


def _convert_source(block: dict[str, Any]) -> dict[str, Any]:
    """Convert a block with Anthropic's ``source`` to a block of OpenAI or LangChain.

    Unchanged if the source does not contain the data.
    """
    source = block["source"]
    if block.get("type") == "image":
        found = find_picture(block)
        return (convert_image(block, found, "url-object") if found else None) or block
    data, kind = source.get("data"), source.get("media_type")
    if source.get("type") == "text" and isinstance(data, str):
        return {"type": "text", "text": data}
    if source.get("type") == "base64" and isinstance(data, str) and isinstance(kind, str):
        return {"type": "file", "base64": data, "mime_type": kind}
    return block
