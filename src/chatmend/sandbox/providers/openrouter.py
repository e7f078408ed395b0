"""Where a chat request breaks OpenRouter's own rules; the rules of the providers behind it are not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import data_url, look
from chatmend.sandbox.providers.chat_shape import calls, image_urls, text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import Request, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def faults(request: Request) -> Iterator[Fault]:
    """Every fault; the API reports the first."""
    body, messages = request.body, objects(request.messages)
    if body.get("tools"):
        yield fault("openrouter-no-tool-endpoint")
    urls = [url for _, _, url in image_urls(messages)]
    if urls:
        yield fault("openrouter-no-image-endpoint")
    for url in urls:
        found = data_url(url)
        if found and look(found[1]).media_type not in _IMAGES:
            yield fault("openrouter-image-types")
    if any(message.get("role") in ("system", "developer") for message in messages):
        yield fault("openrouter-gemma-developer", model=request.model.split("/")[-1].split(":")[0])
    for message in messages:
        signed = message.get("reasoning_details") or message.get("reasoning")
        if calls(message) and not signed:
            yield fault("openrouter-gemini-reasoning-details")
    size = sum(len(text_of(message.get("content"))) for message in messages) // 4
    for window in (200_000, 1_048_576):
        if size > window:
            yield fault(f"openrouter-context-{window}", tokens=size, window=window)
