"""Finds broken rules in a Converse request: those of AWS and those of the model family."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64
from chatmend.sandbox.providers import anthropic, bedrock_thinking, bedrock_turns
from chatmend.sandbox.refusals import Fault, fault, load_table
from chatmend.sandbox.request import SandboxRequest, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_ID = re.compile(r"[a-zA-Z0-9_.:-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_DOCUMENT = re.compile(r"[a-zA-Z0-9_\-\(\)\[\]]+(?:\s[a-zA-Z0-9_\-\(\)\[\]]+)*\s?\Z")
"""A document name.

Underscores are not documented, but recorded requests with them were answered with 200.
"""
_FORMATS = ("png", "jpeg", "gif", "webp")
_MAX_ID_LENGTH, _MAX_NAME_LENGTH, _MAX_IMAGES, _MAX_BYTES, _MAX_SIDE = 64, 64, 20, 3_932_160, 8000
_CLAUDE_BYTES = 5_242_880


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault: AWS's constraints first, then the conversation, then the model."""
    return chain(
        _constraints(request),
        bedrock_turns.faults(request),
        bedrock_thinking.faults(request),
        bedrock_turns.final_turn_faults(request),
        _context(request),
    )


def invoke_faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the faults of invoke with a Claude body: AWS's JSON schema, then Anthropic's rules.

    Other bodies are accepted.
    """
    for at, message in enumerate(objects(request.body.get("messages"))):
        if not isinstance(message.get("content", ""), str | list):
            yield fault("bedrock-invoke-malformed-content", f"#/messages/{at}/content")
    if "anthropic" not in request.model:
        return
    yield from _invoke_tools(request.body)
    body = {key: value for key, value in request.body.items() if key != "anthropic_version"}
    claude = replace(request, body={"model": request.model, **body}, table="anthropic")
    rules = load_table("anthropic")
    for found in anthropic.faults(claude):
        rule = rules.rules[found.code]
        if rule.applies_to("bedrock", request.model):
            code = "bedrock-input-too-long" if "prompt-too-long" in found.code else "bedrock-claude"
            yield fault(code, text=rule.text.format_map(found.values), rule=found.code)


def _invoke_tools(body: Body) -> Iterator[Fault]:
    for at, tool in enumerate(objects(body.get("tools"))):
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and schema.get("type", "object") != "object":
            yield fault("bedrock-invoke-tool-type-custom", f"tools.{at}.custom.input_schema.type")


def _constraints(request: SandboxRequest) -> Iterator[Fault]:
    body = request.body
    if not body.get("messages"):
        yield fault("bedrock-messages-empty")
    for at, block in enumerate(objects(body.get("system"))):
        if block.get("text") == "":
            yield fault("bedrock-system-text-min1", f"system.{at + 1}.member.text")
    yield from _tools(body.get("toolConfig"))
    for at, message in enumerate(objects(request.messages)):
        if message.get("role") not in ("user", "assistant"):
            yield fault(
                "bedrock-role-system", f"messages.{at + 1}.member.role", role=message.get("role")
            )
        for i, block in enumerate(objects(message.get("content"))):
            yield from _block(request, (at, i), block, str(message.get("role")))


def _tools(config: object) -> Iterator[Fault]:
    if not isinstance(config, dict):
        return
    if config.get("tools") == []:
        yield fault("bedrock-tools-min1")
    for at, tool in enumerate(objects(config.get("tools"))):
        spec = tool.get("toolSpec")
        name = spec.get("name") if isinstance(spec, dict) else None
        path = f"toolConfig.tools.{at + 1}.member.toolSpec.name"
        if isinstance(name, str) and not _NAME.match(name):
            yield fault("bedrock-tool-name", path, value=name)
        elif isinstance(name, str) and len(name) > _MAX_NAME_LENGTH:
            yield fault("bedrock-tool-name-length", path, value=name)


def _block(request: SandboxRequest, at: tuple[int, int], block: Body, role: str) -> Iterator[Fault]:
    message, i = at
    member = f"messages.{message + 1}.member.content.{i + 1}.member"
    for key, name in (("toolUse", "toolUse"), ("toolResult", "toolResult")):
        inner = block.get(key)
        call = inner.get("toolUseId") if isinstance(inner, dict) else None
        if isinstance(call, str) and not _ID.match(call):
            yield fault("bedrock-tool-use-id", f"{member}.{name}.toolUseId", value=call)
        elif isinstance(call, str) and len(call) > _MAX_ID_LENGTH:
            yield fault("bedrock-tool-use-id-length", f"{member}.{name}.toolUseId", value=call)
    use = block.get("toolUse")
    if isinstance(use, dict) and not isinstance(use.get("input"), dict):
        yield fault("bedrock-tool-input-object", f"messages.{message}.content.{i}.toolUse.input")
    yield from _result(block.get("toolResult"), f"messages.{message}.content.{i}.toolResult")
    for key in ("image", "document", "video"):
        if isinstance(block.get(key), dict):
            yield from _media(f"messages.{message}.content.{i}", member, key, block[key])
            if role != "user":
                yield fault("bedrock-image-role", f"messages.{message}.content.{i}", key=key)
            if key == "video":
                yield fault("bedrock-video-unsupported")
    if "cachePoint" in block:
        yield fault("bedrock-cache-point-unsupported", model=request.model)


def _result(result: object, at: str) -> Iterator[Fault]:
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(result, dict) and content == []:
        yield fault("bedrock-tool-result-empty", at, status=result.get("status", "success"))
    for i, part in enumerate(objects(content)):
        if "json" in part and not isinstance(part["json"], dict):
            yield fault("bedrock-tool-result-json", f"{at}.content.{i}.json")
        if "image" in part:
            yield fault("bedrock-tool-result-image")


def _media(at: str, member: str, key: str, media: Body) -> Iterator[Fault]:
    source = media.get("source")
    source = source if isinstance(source, dict) else {}
    if "s3Location" in source:
        yield fault("bedrock-image-s3-unsupported")
    if key == "document" and not _DOCUMENT.match(str(media.get("name", ""))):
        yield fault("bedrock-document-name")
    if key == "image" and media.get("format") not in _FORMATS:
        yield fault("bedrock-image-format", f"{member}.image.format", value=media.get("format"))
    if source.get("bytes") == "":
        yield fault("bedrock-image-bytes-min1", f"{member}.{key}.source.bytes")
    elif key == "image" and isinstance(source.get("bytes"), str):
        yield from _picture(at, media, source["bytes"])


def _picture(at: str, image: Body, data: str) -> Iterator[Fault]:
    picture, label = inspect_base64(data), f"image/{image.get('format')}"
    if picture.media_type and picture.media_type != label:
        yield fault("bedrock-image-mismatch", at, label=label, real=picture.media_type)
    elif not picture.decodes:
        yield fault("bedrock-image-undecodable", at)
    if len(data) > _CLAUDE_BYTES:
        yield fault("bedrock-image-bytes-claude", at, size=len(data))
    if picture.size > _MAX_BYTES or max(picture.width, picture.height) > _MAX_SIDE:
        yield fault("bedrock-image-limits", at)


def _context(request: SandboxRequest) -> Iterator[Fault]:
    size = (
        sum(
            len(str(block.get("text", "")))
            for message in objects(request.messages)
            for block in objects(message.get("content"))
        )
        // 4
    )
    if size > 200_000:
        yield fault("bedrock-input-too-long")
        yield fault("bedrock-nova-context")
