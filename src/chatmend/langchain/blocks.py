"""One content block that a partner's converter cannot send, written another way, or told as text.

What a converter can send is a fact of ``partners.toml``. Where a block says the same in another type, it becomes that;
otherwise it is told as JSON, without the bytes of a recording or a document.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from chatmend import jsontext
from chatmend.changes import Effect
from chatmend.dialects.pictures import picture, translated
from chatmend.langchain.calls import is_call
from chatmend.transcript import is_unchanged

if TYPE_CHECKING:
    from chatmend.langchain.carries import Carries

Place = Literal["user", "answer", "own", "result"]
"""Where a block stands: said by a user or the system, by a model, by the provider's own, or in a tool's result."""
_BYTES = frozenset({"base64", "data", "file_data", "bytes"})
"""Keys whose text is no text."""
_LINKED = frozenset({"image", "audio", "video", "file"})
"""LangChain's own blocks that may hold a link."""
_SAYS = {"input_text": "text", "output_text": "text", "text-plain": "text", "refusal": "refusal"}
"""Types that are words, with the key that holds them."""


@dataclass(slots=True)
class Writer:
    """Writes the blocks of messages so that a partner can send them, and remembers what that cost."""

    carries: Carries
    allow: Effect = Effect.DROPS
    """The worst effect that the caller permits."""
    effect: Effect = Effect.RESHAPES
    """The worst effect so far."""
    left: bool = False
    """Whether something was left as it is, because more was needed than the caller permits."""

    def blocks(self, content: list[Any], place: Place) -> list[Any]:
        """The blocks of one content; those that nothing is wrong with are the very objects."""
        out: list[Any] = []
        for block in content:
            written = self._block(block, place) if block.__class__ is dict else block
            if written is not None:
                out.append(written)
        return out

    def _block(self, block: dict[str, Any], place: Place) -> dict[str, Any] | None:
        carries = self.carries
        if block.get("type") == "tool_result" and place != "result":
            return self._result(block)
        if not carries.cache_markers and "cache_control" in block:
            block = {key: value for key, value in block.items() if key != "cache_control"}
        if not carries.data_links and _is_data_link(block):
            block = _inlined(block)
        if not carries.bare_urls and isinstance(block.get("image_url"), str):
            block = {**block, "image_url": {"url": block["image_url"]}}
        if carries.sources is not None and isinstance(block.get("source"), dict):
            block = block if block.get("type") in carries.sources else _without_source(block)
        if place in ("answer", "own") and is_call(block):
            return block
        if is_dropped(block, carries):
            return None if self.may(Effect.DROPS) else block
        return block if is_sent(block, place, carries) else self._told(block)

    def _result(self, block: dict[str, Any]) -> dict[str, Any]:
        """A tool result in a user's message, with what stands in it."""
        keys = self.carries.result_keys
        if keys is not None and not keys.issuperset(block):
            block = {key: value for key, value in block.items() if key in keys}
        inner = block.get("content")
        if inner is None:
            return {**block, "content": ""}
        if not isinstance(inner, list):
            return block
        inside = self.blocks(inner, "result")
        return block if is_unchanged(inside, inner) else {**block, "content": inside}

    def without_tail(self, blocks: list[Any], *, calls: bool) -> list[Any]:
        """The blocks of an answer without reasoning at their end that led to nothing, as a broken-off stream has."""
        end = len(blocks)
        if calls or self.carries.trailing_reasoning:
            return blocks
        while end and isinstance(last := blocks[end - 1], dict) and last.get("type") == "reasoning" and last.get("id"):
            end -= 1
        return blocks[:end] if end < len(blocks) and self.may(Effect.DROPS) else blocks

    def _told(self, block: dict[str, Any]) -> dict[str, Any]:
        if _words(block) is not None:
            return told(block)
        effect = Effect.DEGRADES if _without_bytes(block) == block else Effect.DROPS
        return told(block) if self.may(effect) else block

    def may(self, effect: Effect) -> bool:
        """Whether the caller permits an effect; it counts as had."""
        if effect > self.allow:
            self.left = True
            return False
        self.effect = max(self.effect, effect)
        return True


def without_blanks(blocks: list[Any]) -> list[Any]:
    """The blocks of an answer without blank texts right behind thinking: the converter leaves those out unseen."""
    out: list[Any] = []
    for block in blocks:
        if not (out and _is_thought(out[-1]) and _is_blank(block)):
            out.append(block)
    return blocks if len(out) == len(blocks) else out


def _is_thought(block: Any) -> bool:
    return block.__class__ is dict and block.get("type") == "thinking"


def _is_blank(block: Any) -> bool:
    text = block.get("text") if block.__class__ is dict and block.get("type") == "text" else None
    return isinstance(text, str) and not text.strip()


def told(block: dict[str, Any]) -> dict[str, Any]:
    """A block as text: its words where it is words, or JSON without bytes."""
    words = _words(block)
    return {"type": "text", "text": jsontext.dumps(_without_bytes(block)) if words is None else words}


def is_dropped(block: dict[str, Any], carries: Carries) -> bool:
    """Whether a block is reasoning of another provider, which this one would refuse."""
    kind = block.get("type")
    own = block.get("id") or block.get("encrypted_content")
    foreign = not carries.foreign_reasoning and kind == "reasoning" and not own
    foreign = foreign or (
        kind == "thinking" and not carries.listed_thinking and isinstance(block.get("thinking"), list)
    )
    return foreign or (isinstance(kind, str) and kind in carries.drops)


def is_sent(block: dict[str, Any], place: Place, carries: Carries) -> bool:
    """Whether the converter takes a block, and makes something of it that the provider takes."""
    if "type" not in block:
        return place not in carries.typed
    kind = block["type"]
    if not isinstance(kind, str) or kind in carries.refused(place):
        return False
    if kind == "text" and not isinstance(block.get("text"), str):
        return False
    if (kind == "image" and not _has_image(block, carries)) or (kind == "text-plain" and not _has_text(block, carries)):
        return False
    taken = carries.taken(place)
    return taken is None or kind in taken


def _has_image(block: dict[str, Any], carries: Carries) -> bool:
    if any(block.get(key) for key in ("base64", "data", "url", "image_url")):
        return True
    if "source" not in block:
        return carries.image_files and bool(block.get("file_id") or block.get("source_type") == "id")
    return (carries.sources is None or "image" in carries.sources) and _is_whole(block["source"], carries)


def _is_whole(source: Any, carries: Carries) -> bool:
    """Whether the source of an image leads to one."""
    if not isinstance(source, dict):
        return False
    kind = source.get("type")
    if kind == "file":
        return carries.image_files and isinstance(source.get("file_id"), str)
    return isinstance(source.get("url" if kind == "url" else "data"), str | bytes)


def _has_text(block: dict[str, Any], carries: Carries) -> bool:
    said = "text" in block and not any(key in block for key in ("base64", "data", "url"))
    return carries.plain_text == "any" or said == (carries.plain_text == "text")


def _words(block: dict[str, Any]) -> str | None:
    """What a block says, where it is words under another name."""
    kind = block.get("type")
    said = block.get(_SAYS.get(kind, "text") if isinstance(kind, str) else "text")
    if isinstance(said, str) and (not isinstance(kind, str) or kind in _SAYS):
        return said
    held = block.get("base64")
    if kind == "text-plain" and isinstance(held, str):
        try:
            return base64.b64decode(held, validate=True).decode()
        except (binascii.Error, ValueError):
            return None
    return None


def _without_bytes(value: Any, depth: int = 4) -> Any:
    """The same without what only a program can read."""
    if not isinstance(value, dict) or not depth:
        return value
    kept = {key: item for key, item in value.items() if key not in _BYTES and not isinstance(item, bytes)}
    return {key: _without_bytes(item, depth - 1) for key, item in kept.items()}


def _is_data_link(block: dict[str, Any]) -> bool:
    link = block.get("url")
    return isinstance(link, str) and link[:5].lower() == "data:" and jsontext.is_one_of(block.get("type"), _LINKED)


def _inlined(block: dict[str, Any]) -> dict[str, Any]:
    """A block with the data that its data URL holds; the same where that is no base64."""
    head, _, data = block["url"].partition(",")
    kind, *parameters = head[5:].split(";")
    if "base64" not in parameters:
        return block
    kept = {key: value for key, value in block.items() if key not in ("url", "source_type")}
    return {**kept, "base64": data, "mime_type": kind or block.get("mime_type") or "application/octet-stream"}


def _without_source(block: dict[str, Any]) -> dict[str, Any]:
    """A block of Anthropic's as OpenAI or LangChain writes it; the same where its bytes are not in it."""
    source = block["source"]
    if block.get("type") == "image":
        found = picture(block)
        return (translated(block, found, "url-object") if found else None) or block
    data, kind = source.get("data"), source.get("media_type")
    if source.get("type") == "text" and isinstance(data, str):
        return {"type": "text", "text": data}
    if source.get("type") == "base64" and isinstance(data, str) and isinstance(kind, str):
        return {"type": "file", "base64": data, "mime_type": kind}
    return block
