"""Finds broken rules of Ollama: those of its OpenAI route and of its native route."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, function, image_urls, parts
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_GO = {dict: "map[string]interface {}", int: "float64", float: "float64", bool: "bool"}
_PARTS = ("text", "image_url", "input_audio")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_IMAGES = ("image/jpeg", "image/jpg", "image/png", "image/webp", "")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault of ``/v1/chat/completions``; the server reports only the first."""
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
        found = parse_data_url(url)
        if url.startswith(("http://", "https://")):
            yield fault("ollama-image-url")
        elif found is not None and found[0] not in _IMAGES:
            yield fault("ollama-image-input")
    audio = part.get("input_audio")
    if part["type"] == "input_audio" and not (isinstance(audio, dict) and audio.get("data")):
        yield fault("ollama-audio-format")


def _model(request: SandboxRequest) -> Iterator[Fault]:
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


def native_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault of ``/api/chat``, where arguments are objects and images a separate key."""
    for message in request.messages:
        if isinstance(message, dict):
            yield from _native_message(message)
        else:
            yield _type_fault("ChatRequest.messages", message, "api.Message")
    for found in _model(request):
        yield Fault(found.code.replace("ollama-", "ollama-native-", 1), found.values)


def _native_message(message: Body) -> Iterator[Fault]:
    for key in ("role", "content", "thinking", "tool_name", "tool_call_id"):
        if not isinstance(message.get(key), str | None):
            yield _type_fault(f"ChatRequest.messages.{key}", message[key], "string")
    for key, kind in (("images", "[]api.ImageData"), ("tool_calls", "[]api.ToolCall")):
        if not isinstance(message.get(key), list | None):
            yield _type_fault(f"ChatRequest.messages.{key}", message[key], kind)
    images = message.get("images")
    for image in images if isinstance(images, list) else ():
        if not isinstance(image, str):
            yield _type_fault("ChatRequest.messages.images", image, "api.ImageData")
        elif (at := _first_illegal(image)) is not None:
            yield fault("ollama-native-image-data", at=str(at))
    for call in calls(message):
        if not isinstance(call.get("id"), str | None):
            yield _type_fault("ToolCall.id", call["id"], "string")
        if not isinstance(function(call).get("arguments"), dict | None):
            yield fault("ollama-native-arguments")


def _type_fault(field: str, value: object, kind: str) -> Fault:
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    name = names.get(type(value), "number")
    return fault("ollama-native-type", type=name, field=field, kind=kind)


def _first_illegal(text: str) -> int | None:
    """Return where Go's base64 decoder stops in a text; None if it decodes all of it."""
    joined = text.replace("\r", "").replace("\n", "")
    found = _BASE64.match(joined)
    end = found.end() if found is not None else 0
    return None if end == len(joined) and end % 4 == 0 else end
