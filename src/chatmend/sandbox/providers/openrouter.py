"""Finds broken rules of OpenRouter itself, not those of the providers that it routes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, image_urls, text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    body, messages = request.body, objects(request.messages)
    if body.get("tools"):
        yield fault("openrouter-no-tool-endpoint")
    urls = [url for _, _, url in image_urls(messages)]
    if urls:
        yield fault("openrouter-no-image-endpoint")
    for url in urls:
        found = parse_data_url(url)
        if found and inspect_base64(found[1]).media_type not in _IMAGES:
            yield fault("openrouter-image-types")
    if any(message.get("role") in ("system", "developer") for message in messages):
        yield fault("openrouter-gemma-developer", model=request.model.split("/")[-1].split(":")[0])
    for message in messages:
        signed = message.get("reasoning_details") or message.get("reasoning")
        if calls(message) and not signed:
            yield fault("openrouter-gemini-reasoning-details")
        if calls(message) and not (signed or message.get("reasoning_content")):
            yield fault("openrouter-deepseek-reasoning")
            yield fault("openrouter-kimi-reasoning", at=str(messages.index(message)))
    size = sum(len(text_of(message.get("content"))) for message in messages) // 4
    for window in (200_000, 1_048_576):
        if size > window:
            yield fault(f"openrouter-context-{window}", tokens=size, window=window)
