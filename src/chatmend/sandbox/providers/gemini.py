"""Finds broken rules in a generateContent request: JSON parser, then contents, then model."""

from __future__ import annotations

import base64
import binascii
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.pictures import inspect_base64
from chatmend.sandbox.providers import gemini_turns
from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import SandboxRequest, objects
from chatmend.sandbox.wires.gemini import either

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_KEYS = frozenset(
    "contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent "
    "labels model serviceTier store modelArmorConfig".split()
)
_DATA = (
    "text",
    "inlineData",
    "functionCall",
    "functionResponse",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
_PART_KEYS = frozenset(
    (*_DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")
)
_REFUSED_TYPES = ("application/vnd", "application/msword", "application/zip", "application/octet")
_MIMES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "image/gif")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")
_MAX_IMAGES = 3600
_FOREIGN_SCHEMA_KEYS = (
    "$schema",
    "$id",
    "oneOf",
    "const",
    "not",
    "patternProperties",
    "if",
    "allOf",
)


def faults(request: SandboxRequest) -> Iterator[Fault]:
    """Yield every fault; the API reports only the first."""
    body = request.body
    return chain(
        _parser(body),
        _contents(body),
        _circulation(request),
        _tools(body),
        _config(request),
        _pictures(body),
        gemini_turns.faults(request),
        (fault("gemini-file-not-found", name=name) for name in request.expired_files()),
        _context(request),
    )


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _parser(body: Body) -> Iterator[Fault]:
    """Yield what protobuf's JSON parser refuses: unknown names and values of a wrong type."""
    for key in body:
        if _camel(key) not in _KEYS:
            yield fault("gemini-unknown-field", key)
    system = either(body, "systemInstruction")
    if system is not None and not isinstance(system, dict):
        yield fault("gemini-system-instruction-object", value=json.dumps(system))
    for at, content in enumerate(objects(body.get("contents"))):
        for key in content.keys() - {"role", "parts"}:
            yield fault("gemini-unknown-field-within", key, place=f"contents[{at}]")
        for i, part in enumerate(objects(content.get("parts"))):
            yield from _part(f"contents[{at}].parts[{i}]", part)


def _part(at: str, part: Body) -> Iterator[Fault]:
    for key in part:
        if _camel(key) not in _PART_KEYS:
            yield fault("gemini-unknown-field-within", key, place=at)
    call, response = either(part, "functionCall"), either(part, "functionResponse")
    for name, value, key in (
        ("function_call", call, "args"),
        ("function_response", response, "response"),
    ):
        inner = value.get(key) if isinstance(value, dict) else None
        if inner is not None and not isinstance(inner, dict):
            yield fault(
                f"gemini-function-{'args' if key == 'args' else 'response'}-object",
                f"{at}.{name}.{key}",
                value=json.dumps(inner),
            )
        if isinstance(value, dict) and "id" in value:
            yield fault("gemini-function-call-id", f"{at}.{name}")
    signature = either(part, "thoughtSignature")
    if isinstance(signature, str) and not _is_base64(signature):
        yield fault("gemini-thought-signature-base64", f"{at}.thought_signature", value=signature)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(
            text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return False
    return True


def _contents(body: Body) -> Iterator[Fault]:
    contents = body.get("contents")
    if not contents:
        yield fault("gemini-contents-empty")
        yield fault("gemini-contents-empty-vertex")
    for at, content in enumerate(objects(contents if isinstance(contents, list) else [contents])):
        path, role = f"contents[{at}]", content.get("role")
        if role is not None and role not in ("user", "model", "function"):
            yield fault("gemini-role-invalid")
        if role == "function":
            yield fault("gemini-role-function")
        if role is None:
            yield fault("gemini-role-missing-vertex")
        if (parts := objects(content.get("parts"))) and all(map(_is_empty_text, parts)):
            yield fault("gemini-text-empty-vertex")
        if not content.get("parts"):
            yield fault("gemini-parts-empty")
            yield fault("gemini-parts-empty-aistudio", path)
        for i, part in enumerate(objects(content.get("parts"))):
            yield from _data(f"{path}.parts[{i}]", part)


def _is_empty_text(part: Body) -> bool:
    is_signed = either(part, "thoughtSignature") or part.get("thought")
    return part.get("text") == "" and not is_signed


def _data(at: str, part: Body) -> Iterator[Fault]:
    if not any(either(part, key) is not None for key in _DATA) and not part.get("thought"):
        yield fault("gemini-part-empty-data", f"{at}.data")
    response = either(part, "functionResponse")
    if isinstance(response, dict) and not response.get("name"):
        yield fault("gemini-function-response-name-empty", f"{at}.function_response.name")
    if isinstance(response, dict) and response.get("parts"):
        yield fault("gemini-multimodal-function-response", f"{at}.function_response.parts")
    linked = either(part, "fileData")
    uri = str(either(linked, "fileUri")) if isinstance(linked, dict) else ""
    if uri.startswith("http") and not uri.startswith(
        ("https://generativelanguage", "https://www.youtube", "https://youtu")
    ):
        yield fault("gemini-file-uri-aistudio", uri=uri)


def _circulation(request: SandboxRequest) -> Iterator[Fault]:
    """Yield the fault of a part that holds a call of a tool that Google runs, or its result."""
    for content in objects(request.body.get("contents")):
        for part in objects(content.get("parts")):
            if either(part, "toolCall") is not None or either(part, "toolResponse") is not None:
                yield fault("gemini-tool-call-circulation", model=request.model)


def _tools(body: Body) -> Iterator[Fault]:
    tools = body.get("tools")
    groups = objects(tools if isinstance(tools, list) else [tools])
    names: list[str] = []
    for at, group in enumerate(groups):
        declared = either(group, "functionDeclarations")
        if not group or declared == []:
            yield fault("gemini-tools-empty-entry", f"tools[{at}].tool_type")
        for i, item in enumerate(objects(declared)):
            yield from _declaration(f"tools[{at}].function_declarations[{i}]", item)
            names.append(str(item.get("name")))
    doubled = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if doubled is not None:
        yield fault("gemini-duplicate-function", name=doubled)
    others = [key for group in groups for key in group if _camel(key) != "functionDeclarations"]
    if names and any(
        _camel(key) in ("googleSearch", "googleSearchRetrieval", "codeExecution") for key in others
    ):
        yield fault("gemini-tools-mixed-search")
    choice = either(body, "toolConfig")
    calling = either(choice, "functionCallingConfig") if isinstance(choice, dict) else None
    if isinstance(calling, dict) and str(calling.get("mode", "")).upper() == "ANY" and not names:
        yield fault("gemini-tool-config-without-functions")
    if either(body, "cachedContent") and (tools or choice or either(body, "systemInstruction")):
        yield fault("gemini-cached-content-conflict")


def _declaration(at: str, item: Body) -> Iterator[Fault]:
    if not _NAME.match(str(item.get("name", ""))):
        yield fault("gemini-function-name-proto", at)
        yield fault("gemini-function-name", at)
    schema = item.get("parameters")
    if isinstance(schema, dict):
        for key in _FOREIGN_SCHEMA_KEYS:
            if key in schema:
                yield fault("gemini-schema-unsupported", f"{at}.parameters", key=key)
        if schema == {"type": schema.get("type"), "properties": {}} and schema["type"] == "object":
            yield fault("gemini-schema-object-empty", f"{at}.parameters.properties")


def _config(request: SandboxRequest) -> Iterator[Fault]:
    body, model = request.body, request.model
    config = either(body, "generationConfig")
    config = config if isinstance(config, dict) else {}
    if either(body, "systemInstruction") is not None:
        yield fault("gemini-system-not-enabled", model=model)
    if either(config, "presencePenalty") or either(config, "frequencyPenalty"):
        yield fault("gemini-penalty", model=model)
    if either(config, "responseMimeType") == "application/json":
        yield fault("gemini-json-mode", model=model)
        if any(either(group, "functionDeclarations") for group in objects(body.get("tools"))):
            yield fault("gemini-json-with-tools")
    temperature = config.get("temperature")
    if isinstance(temperature, int | float) and not 0 <= temperature < 2.0001:
        yield fault("gemini-temperature", value=f"{temperature:g}")
    thinking = either(config, "thinkingConfig")
    if isinstance(thinking, dict) and either(thinking, "thinkingBudget") == 0:
        yield fault("gemini-thinking-budget")
    modalities = either(config, "responseModalities")
    if isinstance(modalities, list) and "AUDIO" not in modalities:
        yield fault("gemini-modalities", model=model, wanted=", ".join(map(str, modalities)))


def _pictures(body: Body) -> Iterator[Fault]:
    found = [
        either(part, "inlineData")
        for content in objects(body.get("contents"))
        for part in objects(content.get("parts"))
    ]
    images = [
        data
        for data in found
        if isinstance(data, dict) and str(either(data, "mimeType")).startswith("image/")
    ]
    for data in filter(lambda data: isinstance(data, dict), found):
        mime = str(either(data, "mimeType") or "")
        if not mime:
            yield fault("gemini-mime-empty-vertex")
        elif mime.startswith(_REFUSED_TYPES) or "/" not in mime:
            yield fault("gemini-mime-unsupported", mime=mime)
            yield fault("gemini-mime-unsupported-vertex", mime=mime)
    if len(images) > _MAX_IMAGES:
        yield fault("gemini-image-count", number=len(images))
    for image in images:
        mime = str(either(image, "mimeType"))
        if mime not in _MIMES:
            yield fault("gemini-mime-unsupported", mime=mime)
            yield fault("gemini-mime-unsupported-vertex", mime=mime)
        data = str(image.get("data", "")).replace("-", "+").replace("_", "/")
        if mime not in ("image/heic", "image/heif") and not inspect_base64(data).decodes:
            yield fault("gemini-image-undecodable")
            yield fault("gemini-image-invalid")


def _context(request: SandboxRequest) -> Iterator[Fault]:
    size = (
        sum(
            len(str(part.get("text", "")))
            for content in objects(request.body.get("contents"))
            for part in objects(content.get("parts"))
        )
        // 4
    )
    if size > 1_048_576:
        yield fault("gemini-context", tokens=size)
