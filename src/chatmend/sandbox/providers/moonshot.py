"""Finds broken rules of Moonshot (Kimi)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers.chat_shape import (
    calls,
    exchanges,
    function,
    is_empty,
    orphans,
    parts,
    text_of,
)
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z$][a-zA-Z0-9_-]*\Z")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    yield from _parameters(request.body)
    for tool in objects(request.body.get("tools")):
        yield from _tool(tool)
    for at, message in enumerate(objects(request.messages)):
        yield from _message(at, message)
    yield from _pairs(request.messages)
    yield from _reasoning(request)
    size = sum(len(text_of(message.get("content"))) for message in objects(request.messages)) // 4
    if size > 262_144:
        yield fault("moonshot-context", tokens=size)


def _parameters(body: Body) -> Iterator[Fault]:
    if body.get("temperature") not in (None, 1):
        yield fault("moonshot-temperature")
    if body.get("tool_choice") == "required":
        yield fault("moonshot-tool-choice-required")


def _tool(tool: Body) -> Iterator[Fault]:
    if not _NAME.match(str(function(tool).get("name", "f"))):
        yield fault("moonshot-function-name")
    schema = function(tool).get("parameters")
    if isinstance(schema, dict):
        yield from _schema(schema, schema, "")


def _schema(schema: Body, root: Body, at: str) -> Iterator[Fault]:
    if "anyOf" in schema and "type" in schema:
        yield fault("moonshot-tool-schema-anyof", at or "root")
    properties = schema.get("properties")
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        path = f"{at}.properties.{name}".lstrip(".")
        if not isinstance(inner, dict):
            continue
        if "$ref" in inner:
            yield from _reference(inner, root, path)
        elif not {"type", "anyOf", "oneOf", "allOf"} & inner.keys():
            yield fault("moonshot-tool-schema-type", path)
        yield from _schema(inner, root, path)


def _reference(inner: Body, root: Body, at: str) -> Iterator[Fault]:
    target = str(inner["$ref"])
    if not target.startswith("#/$defs/"):
        yield fault("moonshot-tool-schema-ref", f"{at}.$ref")
        return
    found = (root.get("$defs") or {}).get(target.removeprefix("#/$defs/"))
    shared = sorted(set(inner) & set(found)) if isinstance(found, dict) else []
    if shared:
        yield fault("moonshot-tool-schema-ref-conflict", at, keys=", ".join(shared))


def _message(at: int, message: Body) -> Iterator[Fault]:
    if message.get("role") == "assistant" and not calls(message):
        if "content" not in message and not message.get("reasoning_content"):
            yield fault("moonshot-assistant-nothing")
        elif not message.get("content"):
            yield fault("moonshot-assistant-empty", position=at)
    if any(
        part.get("type") == "text" and part.get("text") == "" for part in objects(parts(message))
    ):
        yield fault("moonshot-text-part-empty")
    for url in _image_links(message):
        yield fault("moonshot-image-url", url=url)
    role = message.get("role")
    if role in ("system", "user") and is_empty(message.get("content")):
        yield fault("moonshot-message-empty", position=at, role=role)


def _image_links(message: Body) -> Iterator[str]:
    """Yield the links of images that are neither encoded nor stored by Kimi."""
    for part in objects(parts(message)):
        held = part.get("image_url")
        url = held.get("url") if isinstance(held, dict) else held
        if isinstance(url, str) and not url.startswith(("data:", "ms://")):
            yield url


def _pairs(messages: list[Any]) -> Iterator[Fault]:
    if any(True for _ in orphans(messages)):
        yield fault("moonshot-tool-call-id-not-found")
    for found in exchanges(messages):
        if found.missing:
            yield fault("moonshot-tool-calls-unanswered", ids=", ".join(found.missing))


def _reasoning(request: SandboxRequest) -> Iterator[Fault]:
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "disabled":
        return
    for at, message in enumerate(objects(request.messages)):
        if (
            message.get("role") == "assistant"
            and calls(message)
            and not message.get("reasoning_content")
        ):
            yield fault("moonshot-reasoning-content-required", index=at)
