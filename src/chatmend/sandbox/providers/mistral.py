"""Finds broken rules of Mistral: the schema (422), then order, ids and contents (400)."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import calls, function, image_urls, parts
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool")
_ID = re.compile(r"[a-zA-Z0-9]{9}\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_FOLLOWERS = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool", "user"),
}
_MAX_TOOLS, _MAX_IMAGES, _MAX_SIDE = 128, 8, 10_000
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")
_CHUNKS = {"image_url": "ImageURLChunk", "input_audio": "AudioChunk"}


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    messages = request.messages
    return chain(
        _schema(request.body),
        _order(messages),
        _ids(messages),
        _pairs(messages),
        _names(request.body),
        _contents(messages),
        _pictures(messages),
        _last(messages),
        _context(request),
    )


def _loc(*path: str | int) -> list[str | int]:
    return ["body", *path]


def _schema(body: Body) -> Iterator[Fault]:
    for at, message in enumerate(objects(body.get("messages"))):
        role = message.get("role")
        if role not in _ROLES:
            yield fault("mistral-unsupported-role", role=role, loc=_loc("messages", at), input="")
            continue
        for key in message:
            if key not in _KEYS[role]:
                yield fault(
                    "mistral-extra-forbidden",
                    loc=_loc("messages", at, role, key),
                    input=str(message[key]),
                )
        for i, part in enumerate(parts(message)):
            loc = _loc("messages", at, role, "content", i)
            yield from _unknown_keys(loc, part)
        for i, call in enumerate(calls(message)):
            arguments = function(call).get("arguments", "")
            if not isinstance(arguments, str | dict):
                loc = _loc("messages", at, role, "tool_calls", i, "function", "arguments")
                yield fault("mistral-arguments-type", loc=loc, input=str(arguments))
    yield from _parameters(body)


def _unknown_keys(loc: list[str | int], part: Any) -> Iterator[Fault]:
    if not isinstance(part, dict) or part.get("type") != "text":
        return
    for key in part.keys() - {"type", "text"}:
        yield fault("mistral-extra-forbidden", loc=[*loc, "text", key], input=str(part[key]))


def _parameters(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "any", "required"):
        yield fault("mistral-tool-choice", loc=_loc("tool_choice"), input=choice)
    if len(objects(body.get("tools"))) > _MAX_TOOLS:
        yield fault("mistral-tools-max")
    if body.get("reasoning_effort") not in (None, "none"):
        yield fault("mistral-reasoning-effort", effort=body["reasoning_effort"])
    if body.get("messages") == []:
        yield fault("mistral-messages-empty")


def _order(messages: list[Any]) -> Iterator[Fault]:
    roles = [message.get("role") for message in objects(messages)]
    if len(roles) == 1 and roles[0] not in ("user", "system"):
        yield fault("mistral-single-message-role")
    for left, right in pairwise(roles):
        if left in _FOLLOWERS and right not in _FOLLOWERS[left]:
            yield fault("mistral-role-order-assistant", left=left, right=right)
        elif (left, right) == ("tool", "user"):
            yield fault("mistral-user-after-tool")
    for message in objects(messages)[:-1]:
        if message.get("role") == "assistant" and message.get("prefix"):
            yield fault("mistral-prefix-not-last")


def _pairs(messages: list[Any]) -> Iterator[Fault]:
    expected: list[str] = []
    seen: list[str] = []
    for message in [*objects(messages), {"role": "end"}]:
        if message.get("role") == "tool":
            call = str(message.get("tool_call_id"))
            if call in seen:
                yield fault("mistral-tool-result-duplicate", id=call)
            elif call not in expected:
                yield fault("mistral-tool-result-unexpected", id=call)
            seen.append(call)
        elif message.get("role") in ("assistant", "end", "user"):
            if len(seen) != len(expected) and (message["role"] != "user" or seen or not expected):
                yield fault("mistral-tool-calls-count")
            if message["role"] != "user":
                expected, seen = [str(call.get("id")) for call in calls(message)], []
            doubled = [call for call, number in Counter(expected).items() if number > 1]
            if doubled:
                yield fault("mistral-tool-call-duplicate", id=doubled[0])


def _ids(messages: list[Any]) -> Iterator[Fault]:
    for message in objects(messages):
        found = [str(call.get("id", "")) for call in calls(message)]
        if message.get("role") == "tool":
            if "tool_call_id" not in message:
                yield fault("mistral-tool-message-id-required")
            found = [str(message.get("tool_call_id", ""))]
        for call in found:
            if call in ("", "null"):
                yield fault("mistral-tool-call-id-v13")
                yield fault("mistral-tool-call-id-null")
            if not _ID.match(call):
                yield fault("mistral-tool-call-id-9", id=call)


def _names(body: Body) -> Iterator[Fault]:
    for message in objects(body.get("messages")):
        for call in calls(message):
            name = str(function(call).get("name", ""))
            if not _NAME.match(name):
                yield fault("mistral-function-name", name=name)
    for tool in objects(body.get("tools")):
        name = str(function(tool).get("name", "x"))
        if not _NAME.match(name):
            yield fault("mistral-tool-name", name=name)
        schema = function(tool).get("parameters")
        kind = schema.get("type", "object") if isinstance(schema, dict) else "object"
        if isinstance(kind, str) and kind not in _TYPES:
            yield fault(
                "mistral-tool-schema", why=f"'{kind}' is not valid under any of the given schemas"
            )


def _contents(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(objects(messages)):
        role, content = message.get("role"), message.get("content")
        if role == "system" and content is None:
            yield fault("mistral-system-content-none")
        if role == "assistant" and not content and not calls(message):
            yield fault("mistral-assistant-empty")
        if role == "assistant" and content and calls(message):
            yield fault("mistral-assistant-content-xor-tool-calls")
        yield from _parts(message, str(role), at, messages)


def _parts(message: Body, role: str, at: int, messages: list[Any]) -> Iterator[Fault]:
    kinds = [str(part.get("type")) for part in objects(parts(message))]
    for kind, chunk in _CHUNKS.items():
        if (
            kind in kinds
            and role in ("system", "assistant", "tool")
            and (role, kind) != ("system", "input_audio")
        ):
            yield fault(f"mistral-{role}-chunks", chunk=chunk)
    if "thinking" in kinds and role in ("tool", "user"):
        yield fault("mistral-tool-think", role=role)
    first = next((i for i, kind in enumerate(kinds) if kind != "thinking"), len(kinds))
    if role == "assistant" and "thinking" in kinds[first:]:
        yield fault("mistral-think-leading")
    if role == "assistant" and "thinking" in kinds:
        yield fault("mistral-reasoning-not-enabled")
    if role == "assistant" and "thinking" in kinds and message.get("reasoning_content"):
        yield fault("mistral-reasoning-and-think")
    systems = [i for i, other in enumerate(objects(messages)) if other.get("role") == "system"]
    if "input_audio" in kinds and systems:
        yield fault("mistral-audio-with-system", systems=systems, audio=[at])


def _pictures(messages: list[Any]) -> Iterator[Fault]:
    urls = [url for _, _, url in image_urls(messages)]
    if len(urls) > _MAX_IMAGES:
        yield fault("mistral-image-count")
    for url in urls:
        found = parse_data_url(url)
        picture = inspect_base64(found[1]) if found else None
        if picture is not None and max(picture.width, picture.height) > _MAX_SIDE:
            yield fault("mistral-image-dim", width=picture.width, height=picture.height)


def _last(messages: list[Any]) -> Iterator[Fault]:
    last = objects(messages)[-1:]
    if last and last[0].get("role") == "assistant" and not last[0].get("prefix"):
        yield fault("mistral-last-role", role="assistant")
    if last and last[0].get("role") == "system" and len(objects(messages)) > 1:
        yield fault("mistral-system-last")


def _has_files(request: SandboxRequest) -> bool:
    return any(
        part.get("type") in ("file", "document_url", "input_audio")
        for message in objects(request.messages)
        for part in objects(message.get("content"))
    )


def _context(request: SandboxRequest) -> Iterator[Fault]:
    size = len(request.raw) // 4
    # The tokens of files are not those of their base64.
    if size > 131_072 and not list(image_urls(request.messages)) and not _has_files(request):
        yield fault("mistral-context", tokens=size)
