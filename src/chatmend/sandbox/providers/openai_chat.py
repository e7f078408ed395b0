"""Finds broken rules in a Chat Completions request, in the order in which OpenAI validates.

The schema first (unknown keys, messages, tools, numbers), then the abilities of the model, then
the pairing of tool messages; missing content comes last.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64, parse_data_url
from chatmend.sandbox.providers.chat_shape import (
    calls,
    exchanges,
    function,
    image_urls,
    orphans,
    parts,
    text_of,
)
from chatmend.sandbox.providers.openai_tools import tool_faults
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, json_type_name, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_PERSON = re.compile(r"[^\s<|\\/>]+\Z")
_MAX_ID_LENGTH, _MAX_NAME_LENGTH, _MAX_TEXT_LENGTH = 40, 64, 10_485_760
_KEYS = frozenset(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction "
    "presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options".split()
)
_MAX_METADATA = 16
_MAX_CALLS = 128
"""Most calls in a message."""


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault in OpenAI's order; the API reports only the first."""
    body = request.body
    return chain(
        _present(request),
        (fault("openai-chat-unknown-top-level", key) for key in body if key not in _KEYS),
        _messages(request.messages),
        tool_faults(body),
        _choice(body),
        _numbers(body),
        _capabilities(body),
        _pairing(request.messages),
        _pictures(request.messages),
        _contents(request.messages),
        (fault("openai-file-not-found", name=name) for name in request.expired_files()),
        _context(request),
    )


def _present(request: SandboxRequest) -> Iterator[Fault]:
    body = request.body
    if not request.model:
        yield fault("openai-chat-missing", "model")
    if "messages" not in body:
        yield fault("openai-chat-missing", "messages")
    if body.get("messages") == []:
        yield fault("openai-chat-messages-empty", "messages")
    elif not isinstance(body.get("messages"), list):
        yield fault(
            "openai-chat-messages-type", "messages", got=json_type_name(body.get("messages"))
        )


def _messages(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(messages):
        path = f"messages[{at}]"
        if not isinstance(message, dict):
            yield fault("openai-chat-message-item-type", path, got=json_type_name(message))
        elif "role" not in message:
            yield fault("openai-chat-missing", f"{path}.role")
        elif message["role"] not in _ROLES:
            yield fault("openai-chat-role-unknown", f"{path}.role", role=message["role"])
        else:
            yield from _message(path, message)


def _message(at: str, message: Body) -> Iterator[Fault]:
    role, content = message["role"], message.get("content")
    if role in ("system", "developer"):
        yield fault("openai-chat-role-unsupported-model", f"{at}.role", role=role)
    if content is not None and not isinstance(content, str | list):
        yield fault("openai-chat-content-type", f"{at}.content", got=json_type_name(content))
    if isinstance(content, str) and len(content) > _MAX_TEXT_LENGTH:
        yield fault(
            "openai-chat-string-max", f"{at}.content", most=_MAX_TEXT_LENGTH, length=len(content)
        )
    for i, part in enumerate(parts(message)):
        yield from _part(at, f"{at}.content[{i}]", part, role)
    name = message.get("name")
    if (
        isinstance(name, str)
        and role in ("user", "assistant", "system", "developer")
        and not _PERSON.match(name)
    ):
        yield fault("openai-chat-message-name", f"{at}.name")
    if role == "tool" and "tool_call_id" not in message:
        yield fault("openai-chat-missing", f"{at}.tool_call_id")
    yield from _length(f"{at}.tool_call_id", message.get("tool_call_id"), _MAX_ID_LENGTH)
    yield from _calls(f"{at}.tool_calls", message)


def _part(message: str, at: str, part: Any, role: str) -> Iterator[Fault]:
    if isinstance(part, str):
        return  # recorded requests with strings as parts were answered with 200
    if not isinstance(part, dict):
        yield fault("openai-chat-message-item-type", at, got=json_type_name(part))
    elif "type" not in part:
        yield fault("openai-chat-missing", f"{at}.type")
    elif part["type"] not in _PARTS:
        yield fault("openai-chat-content-part-type", f"{at}.type", tag=part["type"])
    else:
        if part["type"] == "image_url" and role in ("assistant", "system", "developer"):
            yield fault("openai-chat-image-in-assistant", message, role=role)
        if part["type"] == "image_url" and role == "tool":
            yield fault("openai-chat-tool-content-text-only", message)
        if part["type"] == "input_audio":
            yield fault("openai-chat-audio-unsupported", message)
        if "cache_control" in part:
            yield fault("openai-chat-unknown-message-key", f"{at}.cache_control")
        yield from _file(f"{at}.file.file_data", part)
        unknown = (
            set(part.get("file", ())) - {"file_id", "file_data", "filename"}
            if part["type"] == "file"
            else ()
        )
        for key in sorted(unknown):
            yield fault("openai-chat-unknown-message-key", f"{at}.file.{key}")


def _file(at: str, part: Body) -> Iterator[Fault]:
    file = part.get("file") if part["type"] == "file" else None
    data = file.get("file_data") if isinstance(file, dict) else None
    if not isinstance(data, str):
        return
    found = parse_data_url(data)
    if found is None:
        yield fault("openai-chat-file-data-url", at)
    elif found[0] != "application/pdf":
        yield fault("openai-chat-file-data-mime", at, mime=found[0])


def _length(at: str, text: object, most: int) -> Iterator[Fault]:
    if isinstance(text, str) and len(text) > most:
        yield fault("openai-chat-string-too-long", at, most=most, length=len(text))


def _calls(at: str, message: Body) -> Iterator[Fault]:
    found = message.get("tool_calls")
    if found == []:
        yield fault("openai-chat-tool-calls-empty", at)
    elif found is not None and not isinstance(found, list):
        yield fault("openai-chat-tool-calls-type", at, got=json_type_name(found))
    elif found is not None and len(found) > _MAX_CALLS:
        yield fault("openai-chat-tool-calls-max128", at, number=len(found))
    ids = [call["id"] for call in calls(message) if isinstance(call.get("id"), str)]
    for repeated in sorted({call_id for call_id in ids if ids.count(call_id) > 1}):
        yield fault("openai-chat-duplicate-call-id", at, id=repeated)
    for i, call in enumerate(calls(message)):
        path, name = f"{at}[{i}]", function(call).get("name")
        yield from _length(f"{path}.id", call.get("id"), _MAX_ID_LENGTH)
        if isinstance(name, str) and not _NAME.match(name):
            yield fault("openai-chat-tool-call-function-name", f"{path}.function.name")
        yield from _length(f"{path}.function.name", name, _MAX_NAME_LENGTH)
        arguments = function(call).get("arguments", "")
        if not isinstance(arguments, str):
            yield fault(
                "openai-chat-tool-call-arguments-string",
                f"{path}.function.arguments",
                got=json_type_name(arguments),
            )


def _choice(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools") and not body.get("functions"):
        yield fault("openai-chat-tool-choice-without-tools")
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        yield fault("openai-chat-tool-choice-unknown", "tool_choice", choice=choice)


def _numbers(body: Body) -> Iterator[Fault]:
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        yield fault("openai-chat-max-tokens-both")
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and len(metadata) > _MAX_METADATA:
        yield fault("openai-chat-metadata", number=len(metadata))
    form = body.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_object":
        said = " ".join(
            text_of(message.get("content")) for message in objects(body.get("messages"))
        )
        if "json" not in said.lower():
            yield fault("openai-chat-response-format-json-word")


def _capabilities(body: Body) -> Iterator[Fault]:
    if body.get("max_tokens") is not None:
        yield fault("openai-chat-max-tokens-unsupported")
    if body.get("temperature") not in (None, 1):
        yield fault("openai-chat-temperature-unsupported", value=body["temperature"])
    if body.get("stop"):
        yield fault("openai-chat-stop-unsupported")
    if body.get("tools"):
        yield fault("openai-chat-tools-unsupported-404")
    if body.get("reasoning_effort") == "none":
        yield fault("openai-chat-reasoning-effort-none")
    form = body.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        yield fault("openai-chat-json-schema-unsupported")


def _pairing(messages: list[Any]) -> Iterator[Fault]:
    lost = dict(orphans(messages))
    unanswered = {found.at: found for found in exchanges(messages) if found.missing}
    for at in sorted({*lost, *unanswered}):
        if at in lost:
            yield fault("openai-chat-tool-orphan", f"messages.[{at}].role")
        elif at + 1 < len(messages):
            missing = ", ".join(unanswered[at].missing)
            yield fault("openai-chat-tool-calls-unanswered", f"messages.[{at}].role", ids=missing)


def _pictures(messages: list[Any]) -> Iterator[Fault]:
    for _, _, url in image_urls(messages):
        if (found := parse_data_url(url)) is None:
            continue
        if not found[0].startswith("image/"):
            yield fault("openai-chat-image-mime-invalid")
        picture = inspect_base64(found[1])
        if not picture.base64_valid:
            yield fault("openai-chat-image-base64-invalid")
        elif (
            picture.media_type not in ("image/png", "image/jpeg", "image/gif", "image/webp")
            or not picture.decodes
            or (picture.media_type == "image/gif" and picture.frames > 1)
        ):
            yield fault("openai-chat-image-unsupported-format")
        patches = -(-picture.width // 32) * -(-picture.height // 32)
        if patches > 30_000:
            yield fault("openai-chat-image-patches", patches=patches)


def _contents(messages: list[Any]) -> Iterator[Fault]:
    for at, message in enumerate(messages):
        spoken = message.get("role") == "assistant" and any(
            message.get(key) is not None
            for key in ("tool_calls", "function_call", "refusal", "audio")
        )
        if message.get("content") is not None or spoken:
            continue
        if message.get("role") == "developer" and "content" not in message:
            yield fault("openai-chat-missing", f"messages[{at}].content")
        elif message.get("role") == "developer":
            yield fault("openai-chat-content-type", f"messages[{at}].content", got="null")
        else:
            yield fault("openai-chat-content-null", f"messages.[{at}].content")


def _context(request: SandboxRequest) -> Iterator[Fault]:
    size = sum(len(text_of(message.get("content"))) for message in objects(request.messages)) // 4
    for window in (128_000, 400_000, 1_050_000):
        if size > window:
            yield fault(f"openai-chat-context-{window}", tokens=size, window=window)
