"""What servers other than Anthropic's refuse in tool results of the Messages API.

LM Studio accepts only texts in the list of a result (lmstudio-ai/lmstudio-bug-tracker#1878), Ollama's cloud no images
(ollama/ollama#18055).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reading import objects

if TYPE_CHECKING:
    from .request import Json, Request


def messages_servers(request: Request) -> list[str]:
    """What the server of the target refuses in tool results."""
    refused = _is_image if request.provider.startswith("ollama") else _is_no_text
    return [
        f"messages[{at}] has a result with a block of type {block.get('type')!r}"
        for at, message in enumerate(objects(request.messages))
        for result in objects(message.get("content"))
        if result.get("type") == "tool_result"
        for block in objects(result.get("content"))
        if refused(block)
    ]


def _is_image(block: dict[str, Json]) -> bool:
    return block.get("type") == "image"


def _is_no_text(block: dict[str, Json]) -> bool:
    return block.get("type") != "text"
