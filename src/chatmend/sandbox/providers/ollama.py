"""Where a chat request breaks Ollama's rules: its OpenAI route, and its native one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import data_url
from chatmend.sandbox.providers.chat_shape import calls, function, image_urls, parts
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import Request, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_GO = {dict: "map[string]interface {}", int: "float64", float: "float64", bool: "bool"}
_PARTS = ("text", "image_url", "input_audio")
_IMAGES = ("image/jpeg", "image/jpg", "image/png", "image/webp", "")


def faults(request: Request) -> Iterator[Fault]:
    """Every fault of ``/v1/chat/completions``; the server reports the first."""
    if request.messages == []:
        yield fault("ollama-messages-empty")
    for message in objects(request.messages):
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            yield fault("ollama-content-type", type=_GO.get(type(content), "unknown"))
        for part in parts(message):
            yield from _part(part)
        for call in calls(message):
            if not _is_object(function(call).get("arguments", "{}")):
                yield fault("ollama-tool-arguments")
    yield from _model(request)


def _is_object(arguments: object) -> bool:
    try:
        return isinstance(json.loads(arguments), dict) if isinstance(arguments, str) else False
    except ValueError:
        return False


def _part(part: Any) -> Iterator[Fault]:
    if not isinstance(part, dict) or part.get("type") not in _PARTS:
        yield fault("ollama-message-format")
        return
    if part["type"] == "image_url":
        image = part.get("image_url")
        url = str(image.get("url") if isinstance(image, dict) else image)
        found = data_url(url)
        if url.startswith(("http://", "https://")):
            yield fault("ollama-image-url")
        elif found is not None and found[0] not in _IMAGES:
            yield fault("ollama-image-input")
    audio = part.get("input_audio")
    if part["type"] == "input_audio" and not (isinstance(audio, dict) and audio.get("data")):
        yield fault("ollama-audio-format")


def _model(request: Request) -> Iterator[Fault]:
    images = list(image_urls(request.messages))
    if len(images) > 1:
        yield fault("ollama-image-count")
    if request.body.get("tools"):
        yield fault("ollama-tools-unsupported", model=request.model)
    think = request.body.get("think")
    if think not in (None, True, False, "high", "medium", "low", "max"):
        yield fault("ollama-think-value", value=think)
    if think:
        yield fault("ollama-think-unsupported", model=request.model)


def native_faults(request: Request) -> Iterator[Fault]:
    """Every fault of ``/api/chat``, where arguments are objects and images stand beside the text."""
    for message in objects(request.messages):
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            yield fault("ollama-native-content", type="object" if isinstance(content, dict) else "array")
        for call in calls(message):
            if not isinstance(function(call).get("arguments", {}), dict):
                yield fault("ollama-native-arguments")
    for found in _model(request):
        yield Fault(found.code.replace("ollama-", "ollama-native-", 1), found.values)
