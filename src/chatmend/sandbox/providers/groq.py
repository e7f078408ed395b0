"""Finds broken rules of Groq."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, image_urls, parts, text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_KEYS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "reasoning",
    "channel",
}
_MAX_TOOLS, _MAX_IMAGES, _MAX_IMAGES_SMALL_MODELS, _MAX_PIXELS = 128, 5, 3, 33_177_600


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    yield from _model(request.body)
    for at, message in enumerate(objects(request.messages)):
        yield from _message(f"messages.{at}", message)
        if message.get("reasoning") is not None:
            yield fault("groq-reasoning-unsupported", str(at))
    yield from _pictures(request.messages)
    size = sum(len(text_of(message.get("content"))) for message in objects(request.messages)) // 4
    if size > 131_072:
        yield fault("groq-context")


def _model(body: Body) -> Iterator[Fault]:
    yield fault("groq-model-decommissioned", model=body.get("model"))
    tools = objects(body.get("tools"))
    if tools:
        yield fault("groq-tools-unsupported-model")
    if len(tools) > _MAX_TOOLS:
        yield fault("groq-tools-max128", number=len(tools))
    form = body.get("response_format")
    if tools and isinstance(form, dict) and form.get("type") == "json_object":
        yield fault("groq-json-mode-tools")


def _message(at: str, message: Body) -> Iterator[Fault]:
    role, content = message.get("role"), message.get("content")
    if role is None:
        near = [key for key in message if get_close_matches(key, ["role"], cutoff=0.7)]
        yield from (fault("groq-unknown-message-property-suggest", at, key=key) for key in near)
    for key in message:
        if role is not None and key not in _KEYS:
            yield fault("groq-unknown-message-property", at, role=role, key=key)
    if role == "tool" and not isinstance(content, str):
        yield fault("groq-content-must-be-string", at, role=role)
    if role == "tool" and "tool_call_id" not in message:
        yield fault("groq-tool-call-id-required", at)
    if role == "assistant" and content is None and not calls(message):
        yield fault("groq-content-null-assistant", at, role=role)
    if role == "user" and any(part.get("type") == "image_url" for part in objects(parts(message))):
        yield fault("groq-image-text-model", at, role=role)


def _pictures(messages: list[Any]) -> Iterator[Fault]:
    urls = [url for _, _, url in image_urls(messages)]
    for most in (_MAX_IMAGES_SMALL_MODELS, _MAX_IMAGES):
        if len(urls) > most:
            yield fault(f"groq-image-count-{most}", most=most)
    for url in urls:
        found = parse_data_url(url)
        picture = inspect_base64(found[1]) if found else None
        if picture is not None and picture.width * picture.height > _MAX_PIXELS:
            yield fault("groq-image-pixels")
