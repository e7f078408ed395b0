"""Finds faults in the tools of an OpenAI request: nested in Chat Completions, flat in Responses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.refusals import Fault, fault
from chatmend.sandbox.request import json_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")
_MAX_TOOLS, _MAX_CHAT_NAME_LENGTH, _MAX_RESPONSES_NAME_LENGTH = 128, 64, 128
_COMBINATORS = ("oneOf", "anyOf", "allOf", "enum", "not")


def tool_faults(body: Body) -> Iterator[Fault]:
    """Yield the faults of Chat Completions tools."""
    tools = body.get("tools")
    if tools == []:
        yield fault("openai-chat-tools-empty", "tools")
    if not isinstance(tools, list):
        return
    if len(tools) > _MAX_TOOLS:
        yield fault("openai-chat-tools-max128", number=len(tools))
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict):
            yield fault("openai-chat-message-item-type", f"tools[{at}]", got=json_type_name(tool))
        elif tool.get("type") == "function" and not isinstance(tool.get("function"), dict):
            yield fault("openai-chat-missing", f"tools[{at}].function")
        elif tool.get("type") == "function":
            yield from _function(f"tools[{at}].function", tool["function"], _MAX_CHAT_NAME_LENGTH)


def flat_tool_faults(body: Body) -> Iterator[Fault]:
    """Yield the faults of Responses tools."""
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield fault("openai-responses-tools-type", got=json_type_name(tools))
        return
    for at, tool in enumerate(tools or []):
        if not isinstance(tool, dict) or "type" not in tool:
            yield fault("openai-responses-missing", f"tools[{at}].type")
        elif tool["type"] == "function":
            if "name" not in tool:
                yield fault("openai-responses-missing", f"tools[{at}].name")
            yield from _function(f"tools[{at}]", tool, _MAX_RESPONSES_NAME_LENGTH)
            if tool.get("defer_loading"):
                yield fault("openai-responses-defer-loading")


def _function(at: str, tool: Body, longest: int) -> Iterator[Fault]:
    name = tool.get("name")
    if isinstance(name, str) and not _NAME.match(name):
        yield fault("openai-chat-tools-name", f"{at}.name")
    elif isinstance(name, str) and len(name) > longest:
        yield fault("openai-chat-string-too-long", f"{at}.name", most=longest, length=len(name))
    schema = tool.get("parameters")
    if isinstance(schema, dict):
        yield from _schema(f"{at}.parameters", str(name), schema, strict=tool.get("strict") is True)


def _schema(at: str, name: str, schema: Body, *, strict: bool) -> Iterator[Fault]:
    if schema.get("type", "object") != "object":
        yield fault("openai-chat-tools-schema-object", at, name=name, type=schema["type"])
    if any(key in schema for key in _COMBINATORS):
        yield fault("openai-chat-tools-schema-combinator", at, name=name)
    for pattern in _patterns(schema):
        try:
            re.compile(pattern)
        except re.error:
            yield fault("openai-chat-tools-schema-regex", at, name=name, pattern=pattern)
    if strict:
        yield from _strict(at, name, schema)


def _patterns(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for value in schema.values():
            yield from _patterns(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _patterns(value)


def _strict(at: str, name: str, schema: Body) -> Iterator[Fault]:
    if schema.get("additionalProperties") is not False:
        yield fault("openai-chat-strict-additional-properties", at, name=name)
    required = schema.get("required") or []
    for key in schema.get("properties") or {}:
        if key not in required:
            yield fault("openai-chat-strict-required", at, name=name, key=key)
