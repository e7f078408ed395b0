"""Checks a body of Ollama's ``/api/chat``: the types of Ollama's Python SDK, and those of its server."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from .reading import function, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .request import Json, Request

_STRINGS = ("role", "content", "thinking", "tool_name", "tool_call_id")
"""Keys whose values Go's decoder accepts only as a string or null (api/types.go, Message)."""


def native_ollama(request: Request) -> list[str]:
    """What Ollama's SDK or its server refuses."""
    from ollama import Message
    from pydantic import ValidationError

    found: list[str] = []
    for index, message in enumerate(request.messages):
        if not isinstance(message, dict):
            found.append(f"messages[{index}] is a {type(message).__name__}")
            continue
        try:
            Message.model_validate({k: v for k, v in message.items() if k != "images"})
        except ValidationError as error:
            found += [
                f"messages[{index}]: {fault['loc']}: {fault['msg']}" for fault in error.errors()
            ]
        found += [f"messages[{index}].{fault}" for fault in _server_faults(message)]
    return found


def _server_faults(message: dict[str, Json]) -> Iterator[str]:
    yield from (
        f"{key} is a {type(message[key]).__name__}"
        for key in _STRINGS
        if not isinstance(message.get(key), (str, type(None)))
    )
    images = message.get("images")
    if not isinstance(images, (list, type(None))):
        yield f"images is a {type(images).__name__}"
    for image in images if isinstance(images, list) else ():
        if not isinstance(image, str):
            yield f"images holds a {type(image).__name__}"
            continue
        try:
            base64.b64decode(image, validate=True)
        except (binascii.Error, ValueError):
            yield "images: illegal base64 data"
    calls = message.get("tool_calls")
    if objects(calls) != (calls or []):
        yield "tool_calls holds a value that is not an object"
    for call in objects(calls):
        if not isinstance(call.get("id"), (str, type(None))):
            yield "tool_calls: an id that is not a string"
        if not isinstance(function(call).get("arguments"), (dict, type(None))):
            yield "tool_calls: Value looks like object, but can't find closing '}' symbol"
