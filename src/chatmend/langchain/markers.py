"""Cache markers that stand under ``extras``, where LangChain puts the keys of a block that it rewrites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

_MARKER = "cache_control"


def surfaced(messages: list[BaseMessage], most: int | None) -> list[BaseMessage]:
    """The messages with such markers on the blocks themselves, where they are counted; the same list up to ``most``."""
    found = [_markers(message) for message in messages]
    hidden = [hid for _, hid in found]
    if most is None or not any(hidden) or sum(shown + hid for shown, hid in found) <= most:
        return messages
    return [_surfaced(message) if hid else message for message, hid in zip(messages, hidden, strict=True)]


def _markers(message: BaseMessage) -> tuple[int, int]:
    """Markers on blocks, and under their ``extras``."""
    if message.content.__class__ is not list:
        return 0, 0
    blocks = [block for block in _blocks(message.content) if block.__class__ is dict]
    return sum(_MARKER in block for block in blocks), sum(map(_is_hidden, blocks))


def _blocks(content: Any) -> list[Any]:
    """The blocks of a content, and those of the tool results among them."""
    out: list[Any] = []
    for block in content:
        out.append(block)
        inner = block.get("content") if block.__class__ is dict else None
        out += inner if inner.__class__ is list else ()
    return out


def _is_hidden(block: dict[str, Any]) -> bool:
    extras = block.get("extras")
    return extras.__class__ is dict and extras.get(_MARKER) is not None and _MARKER not in block


def _surfaced(message: BaseMessage) -> BaseMessage:
    content: Sequence[Any] = message.content
    return message.model_copy(update={"content": [_on_block(block) for block in content]})


def _on_block(block: Any) -> Any:
    if block.__class__ is not dict or not _is_hidden(block):
        return block
    extras = {key: value for key, value in block["extras"].items() if key != _MARKER}
    return {**block, "extras": extras, _MARKER: block["extras"][_MARKER]}
