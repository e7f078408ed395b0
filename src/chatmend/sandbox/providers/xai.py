"""Finds broken rules of xAI in Chat Completions and Responses requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import (
    calls,
    function,
    image_urls,
    parts,
    text_of,
    tool_names,
)
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects
from chatmend.sandbox.signatures import SignatureStatus, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool", "function")
_MIN_ENCRYPTED_LENGTH = 32
_MAX_IMAGE_BYTES = 26_214_400


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault of a chat request; the API reports only the first."""
    yield from _parser(request.messages)
    yield from _choice(request.body)
    yield from _messages(request.messages)
    yield from _parameters(request.body)
    yield from _pictures(request.messages)
    size = sum(len(text_of(message.get("content"))) for message in objects(request.messages)) // 4
    for window in (131_072, 256_000, 2_000_000):
        if size > window:
            yield fault(f"xai-context-{window}", tokens=size, window=window)


def _parser(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(objects(messages)):
        if message.get("role") not in (*_ROLES, "developer"):
            yield fault("xai-developer-role", f"messages[{at}].role", role=message.get("role"))
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            yield fault("xai-body-deserialize", f"messages[{at}].content")


def _choice(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools"):
        yield fault("xai-tool-choice-without-tools")
    if isinstance(choice, dict) and body.get("tools"):
        name = function(choice).get("name")
        if name not in tool_names(body):
            yield fault("xai-tool-choice-unknown", name=name)


def _messages(messages: list[Any]) -> Iterator[Fault]:
    for message in objects(messages):
        content = message.get("content")
        spoken = message.get("role") == "assistant"
        if content in ([], None) and not calls(message) and not spoken:
            yield fault("xai-empty-content")
        if content is None and "content" in message and calls(message):
            yield fault("xai-null-content")
        if sum(part.get("type") == "text" for part in objects(parts(message))) > 1:
            yield fault("xai-single-text")


def _parameters(body: Body) -> Iterator[Fault]:
    model = body.get("model")
    yield fault("xai-image-on-text-model", model=model)
    effort = body.get("reasoning_effort")
    if effort == "none":
        yield fault("xai-reasoning-effort-none")
    if effort is not None:
        yield fault("xai-reasoning-effort-model", model=model)
    for key in ("stop", "presence_penalty", "frequency_penalty"):
        if body.get(key):
            yield fault("xai-unsupported-penalties", key)


def _pictures(messages: list[Any]) -> Iterator[Fault]:
    for _, _, url in image_urls(messages):
        found = parse_data_url(url)
        picture = inspect_base64(found[1]) if found else None
        if picture is not None and picture.media_type not in ("image/png", "image/jpeg"):
            yield fault("xai-image-types")
        if picture is not None and picture.size > _MAX_IMAGE_BYTES:
            yield fault("xai-image-size")


def responses_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault of a Responses request; the API reports only the first."""
    for item in objects(request.body.get("input")):
        if item.get("type") == "additional_tools":
            yield fault("xai-additional-tools-items")
        if item.get("type") != "reasoning":
            continue
        sealed = item.get("encrypted_content")
        if not item.get("summary") and not sealed:
            yield fault("xai-reasoning-item-empty")
        if isinstance(sealed, str):
            status = verify(sealed, request.model, str(item.get("id", "")))
            foreign = status in (SignatureStatus.FOREIGN, SignatureStatus.MALFORMED)
            short = foreign and (request.strict_signatures or len(sealed) < _MIN_ENCRYPTED_LENGTH)
            if short or status is SignatureStatus.MODIFIED:
                yield fault("xai-encrypted-content-foreign")
