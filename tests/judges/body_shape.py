"""Judge: the messages are a list of objects, each with a role, and with content and calls that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reading import objects

if TYPE_CHECKING:
    from .request import Json, Request


def body_shape(request: Request) -> list[str]:
    """What every API refuses before it reads on."""
    if not isinstance(request.messages, list):
        return [f"messages is a {type(request.messages).__name__}, not a list"]
    return [
        f"messages[{index}] {fault}"
        for index, message in enumerate(request.messages)
        if (fault := _fault(message))
    ]


def _fault(message: Json) -> str:
    if not (isinstance(message, dict) and isinstance(message.get("role"), str)):
        return "is no object with a role"
    if not isinstance(message.get("content"), (str, list, type(None))):
        return "has content that is neither text nor a list"
    calls = message.get("tool_calls")
    return (
        ""
        if calls is None or objects(calls) == calls
        else "has tool_calls that are no list of objects"
    )
