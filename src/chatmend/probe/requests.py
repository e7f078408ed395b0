"""Request bodies for cases, in the wire formats that can be probed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatmend.probe.cases import Case, Message

from chatmend.probe.cases import NAME, SECOND_NAME

Json = Any
_SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
_TOOLS = {NAME: "Read a text file.", SECOND_NAME: "List the files in a folder."}


def _declared(name: str, schema_key: str) -> dict[str, Json]:
    return {"name": name, "description": _TOOLS[name], schema_key: _SCHEMA}


def body_of(case: Case, dialect: str, model: str, tokens_key: str) -> dict[str, Json]:
    """Return the request body of a case, which asks for one output token.

    Args:
        case: the conversation.
        dialect: ``openai_chat``, ``anthropic_messages`` or ``gemini_contents``.
        model: the model id, as the provider names it.
        tokens_key: the key for the largest number of output tokens (``max_tokens``), which only
            chat completions need: some providers renamed it.
    """
    has_calls = any(
        message.get("tool_calls") or message["role"] in ("tool", "function")
        for message in case.messages
    )
    declares = case.always_declares or (has_calls and case.declares_tools)
    if dialect == "anthropic_messages":
        return _anthropic(case.messages, model, declares=declares)
    if dialect == "gemini_contents":
        return _gemini(case.messages, declares=declares)
    body: dict[str, Json] = {"model": model, "messages": case.messages, tokens_key: 1}
    if declares:
        body["tools"] = [
            {"type": "function", "function": _declared(name, "parameters")} for name in _TOOLS
        ]
    return body


def _anthropic(messages: list[Message], model: str, *, declares: bool) -> dict[str, Json]:
    """Return a body of Anthropic's Messages API; leading system messages are under ``system``."""
    roles = [message["role"] for message in messages]
    start = next((at for at, role in enumerate(roles) if role != "system"), 0)
    body: dict[str, Json] = {"model": model, "max_tokens": 1}
    if start:
        texts = [message["content"] for message in messages[:start]]
        body["system"] = [{"type": "text", "text": text} for text in texts]
    body["messages"] = []
    for message in messages[start:]:
        _add_to_anthropic(body["messages"], message)
    if declares:
        body["tools"] = [_declared(name, "input_schema") for name in _TOOLS]
    return body


def _add_to_anthropic(found: list[Message], message: Message) -> None:
    if message["role"] == "tool":
        block = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": message["content"],
        }
        block = {key: value for key, value in block.items() if value is not None}
        if found and _holds_results(found[-1]):
            found[-1]["content"].append(block)
        else:
            found.append({"role": "user", "content": [block]})
    elif calls := message.get("tool_calls"):
        blocks = [
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"]),
            }
            for call in calls
        ]
        found.append({"role": "assistant", "content": blocks})
    else:
        content = message["content"]
        if isinstance(content, list):
            content = [_anthropic_part(part) for part in content]
        found.append({"role": message["role"], "content": content})


def _holds_results(message: Message) -> bool:
    content = message["content"]
    return isinstance(content, list) and content[0]["type"] == "tool_result"


def _anthropic_part(part: dict[str, Json]) -> dict[str, Json]:
    if part["type"] != "image_url":
        return part
    kind, data = _image(part)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _image(part: dict[str, Json]) -> tuple[str, str]:
    """Return the media type and the base64 text of an image."""
    head, _, data = part["image_url"]["url"].partition(",")
    return head.removeprefix("data:").removesuffix(";base64"), data


def _gemini(messages: list[Message], *, declares: bool) -> dict[str, Json]:
    """Return a body of Gemini's generateContent; results get the name of the tool."""
    contents: list[dict[str, Json]] = []
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
        parts = _gemini_parts(message, names)
        is_result = message["role"] == "tool"
        if is_result and contents and "functionResponse" in contents[-1]["parts"][0]:
            contents[-1]["parts"] += parts
        else:
            role = "model" if message["role"] == "assistant" else "user"
            contents.append({"role": role, "parts": parts})
    body: dict[str, Json] = {"contents": contents, "generationConfig": {"maxOutputTokens": 1}}
    if declares:
        functions = [_declared(name, "parameters") for name in _TOOLS]
        body["tools"] = [{"functionDeclarations": functions}]
    return body


def _gemini_parts(message: Message, names: dict[str, str]) -> list[dict[str, Json]]:
    if message["role"] == "tool":
        name = names.get(message["tool_call_id"], NAME)
        return [{"functionResponse": {"name": name, "response": {"output": message["content"]}}}]
    if calls := message.get("tool_calls"):
        functions = [call["function"] for call in calls]
        return [
            {"functionCall": {"name": one["name"], "args": json.loads(one["arguments"])}}
            for one in functions
        ]
    content = message["content"]
    if isinstance(content, str):
        return [{"text": content}]
    found = []
    for part in content:
        if part["type"] == "image_url":
            kind, data = _image(part)
            found.append({"inlineData": {"mimeType": kind, "data": data}})
        else:
            found.append({"text": part["text"]})
    return found
