"""Finds broken rules of Cohere's chat API, version 2."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, image_urls, text_of, tool_names
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("user", "assistant", "system", "tool")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_IMAGES, _MAX_IMAGE_BYTES, _MAX_STOPS, _WINDOW = 20, 20_971_520, 5, 288_000
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    messages = objects(request.messages)
    for message in messages:
        yield from _message(message)
    yield from _pairs(messages)
    yield from _parameters(request.body)
    yield from _pictures(messages)
    size = sum(len(text_of(message.get("content"))) for message in messages) // 4
    if size > _WINDOW:
        yield fault("cohere-error-type", over=size - _WINDOW)


def _message(message: Body) -> Iterator[Fault]:
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        yield fault("cohere-role-invalid", role=role)
    if role == "user" and "content" not in message:
        yield fault("cohere-history-message")
    if role == "user" and content == "":
        yield fault("cohere-message-min-token")
    if role == "assistant" and not content and not calls(message) and not message.get("tool_plan"):
        yield fault("cohere-assistant-empty")
    if role == "tool" and not message.get("tool_call_id"):
        yield fault("cohere-tool-id-missing")
    for call in calls(message):
        if call.get("type", "function") != "function":
            yield fault("cohere-tool-type")


def _pairs(messages: list[Body]) -> Iterator[Fault]:
    known: set[str] = set()
    for message in messages:
        ids = [str(call.get("id")) for call in calls(message)]
        if any(number > 1 for number in Counter(ids).values()):
            yield fault("cohere-tool-id-duplicate")
        known.update(ids)
        if message.get("role") == "tool" and str(message.get("tool_call_id")) not in known:
            yield fault("cohere-tool-id-unknown")


def _parameters(body: Body) -> Iterator[Fault]:
    for name in tool_names(body):
        if not _NAME.match(name):
            yield fault("cohere-tool-name", name=name)
    if body.get("tool_choice") and not body.get("tools"):
        yield fault("cohere-tool-choice-needs-tools")
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and not 0 <= temperature <= 1:
        yield fault("cohere-temperature")
    if len(body.get("stop_sequences") or []) > _MAX_STOPS:
        yield fault("cohere-stop-max5")
    form = body.get("response_format")
    schema = form.get("json_schema", {}) if isinstance(form, dict) else {}
    if not isinstance(schema, dict):
        yield fault("cohere-schema-object")


def _pictures(messages: list[Body]) -> Iterator[Fault]:
    found = [parse_data_url(url) for _, _, url in image_urls(messages)]
    pictures = [inspect_base64(entry[1]) for entry in found if entry]
    if len(found) > _MAX_IMAGES or sum(picture.size for picture in pictures) > _MAX_IMAGE_BYTES:
        yield fault("cohere-image-count")
    if any(picture.media_type not in _IMAGES or picture.frames > 1 for picture in pictures):
        yield fault("cohere-image-types")
