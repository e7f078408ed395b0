"""Cache markers in the ``extras`` of a block, where LangChain moves unknown keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

_MARKER = "cache_control"


def lift_markers(messages: list[BaseMessage], max_markers: int | None) -> list[BaseMessage]:
    """Move cache markers from ``extras`` to the blocks, where the repair counts them.

    Return the same list if the request has no more than ``max_markers`` markers.
    """
    found = [_markers(message) for message in messages]
    hidden = [hidden_count for _, hidden_count in found]
    if (
        max_markers is None
        or not any(hidden)
        or sum(visible_count + hidden_count for visible_count, hidden_count in found) <= max_markers
    ):
        return messages
    return [
        _lift_markers_of(message) if hidden_count else message
        for message, hidden_count in zip(messages, hidden, strict=True)
    ]


def _markers(message: BaseMessage) -> tuple[int, int]:
    """Count the markers on blocks, and those in their ``extras``."""
    if message.content.__class__ is not list:
        return 0, 0
    blocks = [block for block in _nested_blocks(message.content) if block.__class__ is dict]
    return sum(_MARKER in block for block in blocks), sum(map(_is_hidden, blocks))


def _nested_blocks(content: Any) -> list[Any]:
    """Return the blocks of a content and of the tool results in it."""
    out: list[Any] = []
    for block in content:
        out.append(block)
        inner = block.get("content") if block.__class__ is dict else None
        out += inner if inner.__class__ is list else ()
    return out


def _is_hidden(block: dict[str, Any]) -> bool:
    extras = block.get("extras")
    return extras.__class__ is dict and extras.get(_MARKER) is not None and _MARKER not in block


def _lift_markers_of(message: BaseMessage) -> BaseMessage:
    content: Sequence[Any] = message.content
    return message.model_copy(update={"content": [_lift_marker(block) for block in content]})


def _lift_marker(block: Any) -> Any:
    if block.__class__ is not dict or not _is_hidden(block):
        return block
    extras = {key: value for key, value in block["extras"].items() if key != _MARKER}
    return {**block, "extras": extras, _MARKER: block["extras"][_MARKER]}
