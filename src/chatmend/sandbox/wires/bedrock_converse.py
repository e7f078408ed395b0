"""The Converse dialect of Bedrock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox import eventstream
from chatmend.sandbox.answers import Answer, Ask, Tool
from chatmend.sandbox.memory import Segment, segment
from chatmend.sandbox.request import Request, objects
from chatmend.sandbox.signatures import sign
from chatmend.sandbox.wires import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

Body = dict[str, Any]
MEDIA_TYPE = eventstream.MEDIA_TYPE
MARKERS = True
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_LATENCY = 12


def ask(request: Request) -> Ask:
    """What a Converse request asks for."""
    body, messages = request.body, request.messages
    last = objects(messages[-1].get("content")) if messages else []
    results = [block["toolResult"] for block in last if isinstance(block.get("toolResult"), dict)]
    said = " ".join(str(part.get("text", part.get("json", ""))) for r in results for part in objects(r.get("content")))
    config = body.get("toolConfig") or {}
    specs = [tool["toolSpec"] for tool in objects(config.get("tools")) if isinstance(tool.get("toolSpec"), dict)]
    choice = config.get("toolChoice") or {}
    fields = body.get("additionalModelRequestFields") or {}
    thinking = fields.get("thinking") or fields.get("reasoning_config") or {}
    return Ask(
        said=said if results else " ".join(str(block.get("text", "")) for block in last),
        tools=tuple(Tool(str(s.get("name")), (s.get("inputSchema") or {}).get("json") or {}) for s in specs),
        choice=str(choice["tool"].get("name")) if "tool" in choice else "required" if "any" in choice else "auto",
        results=bool(results),
        thinks=thinking.get("type") in ("enabled", "adaptive"),
        most=(body.get("inferenceConfig") or {}).get("maxTokens"),
    )


def segments(request: Request) -> list[Segment]:
    """Tools, system, then blocks; a ``cachePoint`` marks what stands before it."""
    body = request.body
    blocks = [*objects((body.get("toolConfig") or {}).get("tools")), *objects(body.get("system"))]
    for message in objects(body.get("messages")):
        blocks += [{"role": message.get("role"), **block} for block in objects(message.get("content"))]
    found: list[Segment] = []
    for block in blocks:
        if "cachePoint" not in block:
            found.append(segment(block))
        elif found:
            found[-1] = Segment(found[-1].content, found[-1].tokens, marked=True)
    return found


def _content(answer: Answer) -> list[Body]:
    content: list[Body] = []
    if answer.thought:
        signed = {"text": answer.thought, "signature": sign(answer.model, answer.thought)}
        content.append({"reasoningContent": {"reasoningText": signed}})
    if answer.text:
        content.append({"text": answer.text})
    content += [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": dict(c.arguments)}} for c in answer.calls]
    return content


def usage_of(answer: Answer) -> Body:
    """Usage: ``inputTokens`` exclude the cache, ``totalTokens`` include it; reasoning is never told."""
    prompt = answer.prompt
    fresh = prompt.total - prompt.read - prompt.written
    return {
        "inputTokens": fresh,
        "outputTokens": answer.output_tokens,
        "totalTokens": prompt.total + answer.output_tokens,
        "cacheReadInputTokens": prompt.read,
        "cacheWriteInputTokens": prompt.written,
    }


def whole(answer: Answer, request: Request) -> Body:
    """A ``ConverseResponse``."""
    message = {"role": "assistant", "content": _content(answer)}
    return {
        "output": {"message": message},
        "stopReason": _STOPS[answer.finish],
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


def events(answer: Answer, request: Request) -> Iterable[bytes]:
    """The events of ``converse-stream``."""
    yield eventstream.frame("messageStart", {"role": "assistant"})
    for at, block in enumerate(_content(answer)):
        if "toolUse" in block:
            start = {key: block["toolUse"][key] for key in ("toolUseId", "name")}
            opening = {"contentBlockIndex": at, "start": {"toolUse": start}}
            yield eventstream.frame("contentBlockStart", opening)
        for delta in _deltas(block):
            yield eventstream.frame("contentBlockDelta", {"contentBlockIndex": at, "delta": delta})
        yield eventstream.frame("contentBlockStop", {"contentBlockIndex": at})
    yield eventstream.frame("messageStop", {"stopReason": _STOPS[answer.finish]})
    yield eventstream.frame("metadata", {"usage": usage_of(answer), "metrics": {"latencyMs": _LATENCY}})
