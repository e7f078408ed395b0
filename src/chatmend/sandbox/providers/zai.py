"""Finds broken rules of Z.ai (GLM)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, exchanges, function, image_urls, text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool")
_MAX_SIDE = 8000


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    messages = objects(request.messages)
    roles = [message.get("role") for message in messages]
    if any(role not in _ROLES for role in roles):
        yield fault("zai-role-info")
    if "user" not in roles:
        yield fault("zai-no-user")
    for at, message in enumerate(messages):
        if message.get("role") == "tool" and objects(message.get("content")):
            yield fault("zai-tool-list", f"messages[{at}].content[0]")
    yield from _pairs(messages)
    yield from _arguments(messages)
    yield from _pictures(messages)
    if sum(len(text_of(message.get("content"))) for message in messages) // 4 > 202_752:
        yield fault("zai-context")


def _pairs(messages: list[Any]) -> Iterator[Fault]:
    """Yield faults of tool messages, which must follow a call; their id may be missing."""
    answering = {
        at
        for found in exchanges(messages)
        for at, call in found.results
        if call in (*found.ids, "None")
    }
    if any(
        message.get("role") == "tool" and at not in answering for at, message in enumerate(messages)
    ):
        yield fault("zai-tool-orphan")
    for found in exchanges(messages):
        if len(found.results) < len(found.ids):
            yield fault("zai-tool-calls-unanswered")


def _arguments(messages: list[Any]) -> Iterator[Fault]:
    for message in messages:
        for call in calls(message):
            text = function(call).get("arguments", "{}")
            try:
                json.loads(text) if isinstance(text, str) and text else None
            except ValueError:
                yield fault("zai-parameter-illegal")


def _pictures(messages: list[Any]) -> Iterator[Fault]:
    for _, _, url in image_urls(messages):
        found = parse_data_url(url)
        picture = inspect_base64(found[1]) if found else None
        if picture is None:
            continue
        if (
            picture.media_type not in ("image/png", "image/jpeg")
            or max(picture.width, picture.height) > _MAX_SIDE
        ):
            yield fault("zai-image")
