"""Finds broken rules of DeepSeek: its parser (serde) answers 422 in plain text, the rest is 400."""

from __future__ import annotations

import json
import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64
from chatmend.sandbox.providers.chat_shape import (
    calls,
    exchanges,
    function,
    orphans,
    parts,
    text_of,
)
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
_SEEN_ROLES = ("user", "tool")
"""The roles in whose messages the Flash models accept images."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_MAX_TOKENS = 393_216


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    return chain(
        _parser(request),
        _parameters(request.body),
        _pairs(request.messages),
        _turns(request.messages),
        _reasoning(request),
        _context(request),
    )


def _column(body: Body, at: int) -> int:
    """Estimate where the parser stopped: at the end of message ``at``, in compact JSON."""
    until = {**body, "messages": body["messages"][: at + 1]}
    keys = list(body)
    shown = {key: until[key] for key in keys[: keys.index("messages") + 1]}
    return len(
        json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
    )


def _parser(request: SandboxRequest) -> Iterator[Fault]:
    for at, message in enumerate(objects(request.messages)):
        path, column = f"messages[{at}]", _column(request.body, at)
        content = message.get("content")
        if message.get("role") not in _ROLES:
            yield fault(
                "deepseek-developer-role", f"{path}.role", role=message.get("role"), column=column
            )
        if content is not None and not isinstance(content, str | list):
            yield fault("deepseek-body-deserialize", path, column=column)
        if message.get("role") == "tool" and isinstance(content, list):
            yield fault("deepseek-tool-list", path, column=column)
        yield from _parts(message, path, column)
        for i, call in enumerate(calls(message)):
            if not isinstance(function(call).get("arguments", ""), str):
                yield fault(
                    "deepseek-tool-call-arguments-json",
                    f"{path}.tool_calls[{i}].function.arguments",
                )
    for at, tool in enumerate(objects(request.body.get("tools"))):
        if tool.get("type") != "function":
            yield fault("deepseek-tool-type", f"tools[{at}].type", tag=tool.get("type"))


def _parts(message: Body, path: str, column: int) -> Iterator[Fault]:
    """Yield a fault for each part that text-only models, or Flash models, cannot read."""
    kinds = ("text", "image_url", "file") if message.get("role") in _SEEN_ROLES else ("text",)
    images = 0
    for part in objects(parts(message)):
        tag = part.get("type")
        if tag != "text":
            yield fault("deepseek-image-parts", path, tag=tag, column=column)
        if tag not in kinds:
            yield fault("deepseek-flash-parts", path, tag=tag, column=column)
        url = part.get("image_url") if tag == "image_url" else None
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(url, str) and url.startswith("data:"):
            if not inspect_base64(url.partition(",")[2]).decodes:
                yield fault("deepseek-image-undecodable", path, image=images)
            images += 1


def _parameters(body: Body) -> Iterator[Fault]:
    if body.get("messages") == []:
        yield fault("deepseek-empty-messages")
    most = body.get("max_tokens")
    if isinstance(most, int) and not 1 <= most <= _MAX_TOKENS:
        yield fault("deepseek-max-tokens")
    for at, tool in enumerate(objects(body.get("tools"))):
        if not _NAME.match(str(function(tool).get("name", "x"))):
            yield fault("deepseek-tool-name-pattern", f"tools[{at}].function.name")
    if body.get("tool_choice") not in (None, "auto", "none"):
        yield fault("deepseek-tool-choice-required-reasoner")
    form = body.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_object":
        said = " ".join(
            text_of(message.get("content")) for message in objects(body.get("messages"))
        )
        if "json" not in said.lower():
            yield fault("deepseek-json-object-prompt")


def _pairs(messages: list[Any]) -> Iterator[Fault]:
    if any(True for _ in orphans(messages)):
        yield fault("deepseek-tool-orphan")
    if any(found.missing for found in exchanges(messages)):
        yield fault("deepseek-tool-calls-unanswered")


def _turns(messages: list[Any]) -> Iterator[Fault]:
    for at, (left, right) in enumerate(pairwise(objects(messages))):
        if left.get("role") == right.get("role") and left.get("role") in ("user", "assistant"):
            yield fault("deepseek-r1-alternation", first=at, second=at + 1)
    last = objects(messages)[-1:]
    if last and last[0].get("prefix"):
        yield fault("deepseek-prefix-last")


def _reasoning(request: SandboxRequest) -> Iterator[Fault]:
    asked = mapping(request.body.get("thinking")).get("type")
    if asked == "disabled":
        return
    code = (
        "deepseek-reasoning-content-asked"
        if asked == "enabled"
        else "deepseek-reasoning-content-required"
    )
    has_tools = bool(request.body.get("tools"))
    in_all = asked is None and has_tools and "v4" in request.model
    for message in objects(request.messages):
        is_needed = bool(calls(message)) or (in_all and not message.get("prefix"))
        is_missing = message.get("reasoning_content") is None
        if message.get("role") == "assistant" and is_needed and is_missing:
            yield fault(code)


def _context(request: SandboxRequest) -> Iterator[Fault]:
    size = sum(len(text_of(message.get("content"))) for message in objects(request.messages)) // 4
    if size > 1_048_565:
        yield fault("deepseek-context", tokens=size)
