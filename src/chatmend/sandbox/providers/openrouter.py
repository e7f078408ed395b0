"""Finds broken rules of OpenRouter itself, and of Claude's thinking, whose errors it passes on."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, image_urls, is_empty, text_of
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    body, messages = request.body, objects(request.messages)
    if body.get("tools"):
        yield fault("openrouter-no-tool-endpoint")
    urls = [url for _, _, url in image_urls(messages)]
    if urls:
        yield fault("openrouter-no-image-endpoint")
    for url in urls:
        found = parse_data_url(url)
        if found and inspect_base64(found[1]).media_type not in _IMAGES:
            yield fault("openrouter-image-types")
    if any(message.get("role") in ("system", "developer") for message in messages):
        yield fault("openrouter-gemma-developer", model=request.model.split("/")[-1].split(":")[0])
    for message in messages:
        signed = message.get("reasoning_details") or message.get("reasoning")
        if calls(message) and not signed:
            yield fault("openrouter-gemini-reasoning-details")
        if calls(message) and not (signed or message.get("reasoning_content")):
            yield fault("openrouter-deepseek-reasoning")
            yield fault("openrouter-kimi-reasoning", at=str(messages.index(message)))
    yield from _empty_messages(messages)
    yield from _thinking_first(body, messages)
    size = sum(len(text_of(message.get("content"))) for message in messages) // 4
    for window in (200_000, 1_048_576):
        if size > window:
            yield fault(f"openrouter-context-{window}", tokens=size, window=window)


def _empty_messages(messages: list[Body]) -> Iterator[Fault]:
    for at, message in enumerate(messages):
        role = message.get("role")
        if role != "tool" and not calls(message) and is_empty(message.get("content")):
            yield fault("openrouter-kimi-empty", at=str(at), role=role)


def _thinking_first(body: Body, messages: list[Body]) -> Iterator[Fault]:
    """Yield a fault if manual thinking is enabled, but the current tool loop has no thinking."""
    if not _thinks(body.get("reasoning")):
        return
    spoken = [m for m in messages if m.get("role") not in ("system", "developer")]
    turns = [list(run) for _, run in groupby(spoken, lambda m: m.get("role") == "assistant")]
    at = len(turns)
    while at > 1 and turns[at - 1][0].get("role") == "tool":
        at -= 2
    loop = [turn for turn in turns[at:] if turn[0].get("role") == "assistant"]
    if not loop or any(_has_thinking(turn[0]) for turn in loop):
        return
    index = max(i for i, turn in enumerate(turns) if turn is loop[-1])
    tag = "text" if loop[-1][0].get("content") else "tool_use"
    yield fault("openrouter-claude-thinking-first", f"messages.{index}.content.0.type", tag=tag)


def _thinks(reasoning: object) -> bool:
    given = mapping(reasoning)
    is_wanted = given.get("enabled") or given.get("max_tokens") or given.get("effort")
    return bool(is_wanted) and given.get("enabled") is not False and given.get("effort") != "none"


def _has_thinking(message: Body) -> bool:
    keys = ("reasoning_details", "reasoning", "reasoning_content")
    return any(message.get(key) for key in keys)
