"""Finds broken rules of MiniMax."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.providers.chat_shape import (
    calls,
    exchanges,
    function,
    orphans,
    parts,
    text_of,
)
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    messages = objects(request.messages)
    yield from _roles(messages)
    thinking = request.body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") not in ("adaptive", "disabled"):
        yield fault("minimax-thinking-type", type=thinking.get("type"))
    yield from _details(messages)
    yield from _pairs(messages)
    yield from _arguments(messages)
    if sum(len(text_of(message.get("content"))) for message in messages) // 4 > 204_800:
        yield fault("minimax-context")


def _roles(messages: list[Body]) -> Iterator[Fault]:
    roles = [str(message.get("role")) for message in messages]
    if any(role.startswith(("user_system", "group", "sample_message")) for role in roles):
        yield fault("minimax-special-roles")
    leading = next((at for at, role in enumerate(roles) if role != "system"), len(roles))
    if leading > 1:
        yield fault("minimax-multi-system")
    for role in roles[leading:]:
        if role not in ("user", "assistant", "tool"):
            yield fault("minimax-system-role-mid", role=role)


def _details(messages: list[Body]) -> Iterator[Fault]:
    for message in messages:
        for part in objects(parts(message)):
            image = part.get("image_url")
            if isinstance(image, dict) and image.get("detail") not in (
                None,
                "low",
                "default",
                "high",
            ):
                yield fault("minimax-image-detail", detail=image["detail"])


def _pairs(messages: list[Any]) -> Iterator[Fault]:
    known = {str(call.get("id")) for message in messages for call in calls(message)}
    for at, call in orphans(messages):
        after_call = any(
            result == at for found in exchanges(messages) for result, _ in found.results
        )
        if after_call or call not in known:
            yield fault("minimax-tool-id-unknown", id=call)
        else:
            yield fault("minimax-tool-result-order")
    for found in exchanges(messages):
        if found.missing:
            yield fault("minimax-tool-result-order")


def _arguments(messages: list[Body]) -> Iterator[Fault]:
    for message in messages:
        for call in calls(message):
            try:
                json.loads(function(call).get("arguments") or "{}")
            except (ValueError, TypeError):
                yield fault("minimax-arguments-json", id=call.get("id"))
