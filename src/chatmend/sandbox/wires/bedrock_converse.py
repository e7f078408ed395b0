"""The Converse format of Bedrock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import eventstream
from chatmend.sandbox.answers import Answer, NormalizedRequest, Tool
from chatmend.sandbox.memory import Segment, make_segment
from chatmend.sandbox.providers.anthropic_thinking import input_transformations, prefix
from chatmend.sandbox.providers.bedrock_thinking import as_messages_request
from chatmend.sandbox.request import SandboxRequest, mapping, objects
from chatmend.sandbox.signatures import sign
from chatmend.sandbox.wires import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

Body = dict[str, Any]
MEDIA_TYPE = eventstream.MEDIA_TYPE
MARKERS = True
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_LATENCY = 12
_TRANSFORMATIONS = "/input_transformations"


def normalize(request: SandboxRequest) -> NormalizedRequest:
    """Read a Converse request."""
    body, messages = request.body, objects(request.messages)
    last = objects(messages[-1].get("content")) if messages else []
    results = [block["toolResult"] for block in last if isinstance(block.get("toolResult"), dict)]
    said = " ".join(
        str(part.get("text", part.get("json", "")))
        for r in results
        for part in objects(r.get("content"))
    )
    config = mapping(body.get("toolConfig"))
    specs = [
        tool["toolSpec"]
        for tool in objects(config.get("tools"))
        if isinstance(tool.get("toolSpec"), dict)
    ]
    choice = mapping(config.get("toolChoice"))
    fields = mapping(body.get("additionalModelRequestFields"))
    thinking = mapping(fields.get("thinking") or fields.get("reasoning_config"))
    return NormalizedRequest(
        last_text=said if results else " ".join(str(block.get("text", "")) for block in last),
        tools=tuple(
            Tool(str(s.get("name")), mapping(s.get("inputSchema")).get("json") or {}) for s in specs
        ),
        tool_choice=str(mapping(choice["tool"]).get("name"))
        if "tool" in choice
        else "required"
        if "any" in choice
        else "auto",
        ends_with_results=bool(results),
        wants_thinking=thinking.get("type") in ("enabled", "adaptive"),
        max_tokens=mapping(body.get("inferenceConfig")).get("maxTokens"),
    )


def segments(request: SandboxRequest) -> list[Segment]:
    """Return tools, system and blocks; a ``cachePoint`` marks the block before it."""
    body = request.body
    blocks = [*objects(mapping(body.get("toolConfig")).get("tools")), *objects(body.get("system"))]
    for message in objects(body.get("messages")):
        blocks += [
            {"role": message.get("role"), **block} for block in objects(message.get("content"))
        ]
    found: list[Segment] = []
    for block in blocks:
        if "cachePoint" not in block:
            found.append(make_segment(block))
        elif found:
            found[-1] = Segment(found[-1].content, found[-1].tokens, has_marker=True)
    return found


def _content(answer: Answer, request: SandboxRequest) -> list[Body]:
    content: list[Body] = []
    if answer.thought:
        bound_to = prefix(as_messages_request(request))
        signature = sign(answer.model, answer.thought, bound_to)
        signed = {"text": answer.thought, "signature": signature}
        content.append({"reasoningContent": {"reasoningText": signed}})
    if answer.text:
        content.append({"text": answer.text})
    content += [
        {"toolUse": {"toolUseId": c.id, "name": c.name, "input": dict(c.arguments)}}
        for c in answer.calls
    ]
    return content


def usage_of(answer: Answer) -> Body:
    """Return the usage.

    ``inputTokens`` excludes cached tokens, ``totalTokens`` includes them; reasoning is not
    reported separately.
    """
    prompt = answer.prompt
    fresh = prompt.total - prompt.read - prompt.written
    return {
        "inputTokens": fresh,
        "outputTokens": answer.output_tokens,
        "totalTokens": prompt.total + answer.output_tokens,
        "cacheReadInputTokens": prompt.read,
        "cacheWriteInputTokens": prompt.written,
    }


def _additional_fields(request: SandboxRequest) -> Body:
    """Return the fields of Claude's own response that a request asks for by their path."""
    if _TRANSFORMATIONS not in (request.body.get("additionalModelResponseFieldPaths") or []):
        return {}
    found = input_transformations(as_messages_request(request))
    fields = {} if found is None else {"input_transformations": found}
    return {"additionalModelResponseFields": fields}


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a ``ConverseResponse``."""
    message = {"role": "assistant", "content": _content(answer, request)}
    return {
        "output": {"message": message},
        "stopReason": _STOPS[answer.finish],
        **_additional_fields(request),
        "usage": usage_of(answer),
        "metrics": {"latencyMs": _LATENCY},
    }


def _deltas(block: Body) -> list[Body]:
    if "text" in block:
        return [{"text": piece} for piece in pieces(block["text"])]
    if "toolUse" in block:
        text = json.dumps(block["toolUse"]["input"], ensure_ascii=False)
        return [{"toolUse": {"input": piece}} for piece in pieces(text)]
    signed = block["reasoningContent"]["reasoningText"]
    deltas: list[Body] = [{"reasoningContent": {"text": piece}} for piece in pieces(signed["text"])]
    return [*deltas, {"reasoningContent": {"signature": signed["signature"]}}]


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield the events of ``converse-stream``."""
    yield eventstream.frame("messageStart", {"role": "assistant"})
    for at, block in enumerate(_content(answer, request)):
        if "toolUse" in block:
            start = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            opening = {"contentBlockIndex": at, "start": {"toolUse": start}}
            yield eventstream.frame("contentBlockStart", opening)
        for delta in _deltas(block):
            yield eventstream.frame("contentBlockDelta", {"contentBlockIndex": at, "delta": delta})
        yield eventstream.frame("contentBlockStop", {"contentBlockIndex": at})
    yield eventstream.frame(
        "messageStop", {"stopReason": _STOPS[answer.finish], **_additional_fields(request)}
    )
    yield eventstream.frame(
        "metadata", {"usage": usage_of(answer), "metrics": {"latencyMs": _LATENCY}}
    )
