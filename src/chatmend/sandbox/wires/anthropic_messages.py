"""The Messages format: Anthropic, Claude on Vertex, and Claude through Bedrock's invoke."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.answers import Answer, NormalizedRequest, Tool
from chatmend.sandbox.memory import Segment, make_segment
from chatmend.sandbox.pictures import inspect_base64
from chatmend.sandbox.providers.anthropic_thinking import input_transformations, prefix
from chatmend.sandbox.providers.anthropic_turns import blocks
from chatmend.sandbox.request import SandboxRequest, mapping, objects
from chatmend.sandbox.signatures import sign
from chatmend.sandbox.wires import pieces, sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Body = dict[str, Any]
MEDIA_TYPE = "text/event-stream; charset=utf-8"
MARKERS = True
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_MAX_IMAGE_TOKENS, _PATCH = 1568, 28


def normalize(request: SandboxRequest) -> NormalizedRequest:
    """Read a Messages request."""
    body = request.body
    messages = objects(body.get("messages"))
    last = blocks(messages[-1].get("content")) if messages else []
    choice = mapping(body.get("tool_choice"))
    named = {"tool": choice.get("name"), "any": "required"}.get(
        str(choice.get("type")), choice.get("type", "auto")
    )
    config, thinking = body.get("output_config"), body.get("thinking")
    answer_format = body.get("output_format") or (
        config.get("format") if isinstance(config, dict) else None
    )
    return NormalizedRequest(
        last_text=_said(messages),
        tools=tuple(
            Tool(str(t.get("name")), t.get("input_schema") or {})
            for t in objects(body.get("tools"))
            if t.get("type", "custom") == "custom"
        ),
        tool_choice=str(named),
        ends_with_results=any(block.get("type") == "tool_result" for block in last),
        schema=answer_format.get("schema") if isinstance(answer_format, dict) else None,
        wants_thinking=isinstance(thinking, dict)
        and thinking.get("type") in ("enabled", "adaptive"),
        max_tokens=body.get("max_tokens"),
    )


def _said(messages: list[Body]) -> str:
    for message in reversed(messages):
        if message.get("role") == "user":
            return " ".join(_text(block) for block in blocks(message.get("content")))
    return ""


def _text(block: Body) -> str:
    content = block.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in objects(content))
    return str(content if isinstance(content, str) else block.get("text", ""))


def segments(request: SandboxRequest) -> list[Segment]:
    """Return tools, system, and the blocks of each message, in Anthropic's cache order."""
    body, found = request.body, []
    system = body.get("system")
    system = [{"type": "text", "text": system}] if isinstance(system, str) else objects(system)
    head = [*objects(body.get("tools")), *system]
    found += [make_segment(piece, has_marker="cache_control" in piece) for piece in head]
    for message in objects(body.get("messages")):
        for block in blocks(message.get("content")):
            said = {"role": message.get("role"), **_without_data(block)}
            found.append(
                make_segment(said, has_marker="cache_control" in block, extra=_image_tokens(block))
            )
    if body.get("cache_control") and found:
        last = found.pop()
        found.append(Segment(last.content, last.tokens, has_marker=True))
    return found


def _without_data(block: Body) -> Body:
    """Replace image data by its hash, so that it is not counted as text."""
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        return block
    return block | {
        "source": source | {"data": hashlib.sha256(source["data"].encode()).hexdigest()[:16]}
    }


def _image_tokens(block: Body) -> int:
    source = block.get("source")
    if (
        block.get("type") != "image"
        or not isinstance(source, dict)
        or not isinstance(source.get("data"), str)
    ):
        return 0
    picture = inspect_base64(source["data"])
    return min(_MAX_IMAGE_TOKENS, -(-picture.width // _PATCH) * -(-picture.height // _PATCH))


def sign_thinking(answer: Answer, request: SandboxRequest) -> str:
    """Sign the thought of an answer: its text, the model and the whole request."""
    return sign(request.model, answer.thought, prefix(request))


def content_of(answer: Answer, request: SandboxRequest) -> list[Body]:
    """Return the content blocks of an answer."""
    content: list[Body] = []
    if answer.thought:
        content.append(
            {
                "type": "thinking",
                "thinking": answer.thought,
                "signature": sign_thinking(answer, request),
            }
        )
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)}
        for c in answer.calls
    ]
    return content


def usage_of(answer: Answer) -> Body:
    """Return the usage; ``input_tokens`` excludes tokens read from or written to the cache."""
    prompt = answer.prompt
    written = {"ephemeral_5m_input_tokens": prompt.written, "ephemeral_1h_input_tokens": 0}
    return {
        "input_tokens": prompt.total - prompt.read - prompt.written,
        "cache_creation_input_tokens": prompt.written,
        "cache_read_input_tokens": prompt.read,
        "cache_creation": written,
        "output_tokens": answer.output_tokens,
        "service_tier": "standard",
    }


def _head(
    answer: Answer, request: SandboxRequest, content: list[Body], stop: str | None, usage: Body
) -> Body:
    transformations = input_transformations(request)
    report = {} if transformations is None else {"input_transformations": transformations}
    return report | {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a message."""
    content = content_of(answer, request)
    return _head(answer, request, content, _STOPS[answer.finish], usage_of(answer))


def event_objects(answer: Answer, request: SandboxRequest) -> Iterator[Body]:
    """Yield the events of a stream as objects with their type."""
    usage = usage_of(answer)
    yield {
        "type": "message_start",
        "message": _head(answer, request, [], None, usage | {"output_tokens": 1}),
    }
    for at, block in enumerate(content_of(answer, request)):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        yield from (
            {"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas
        )
        yield {"type": "content_block_stop", "index": at}
    final = {
        key: usage[key]
        for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    }
    delta = {"stop_reason": _STOPS[answer.finish], "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": delta,
        "usage": final | {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _streamed(block: Body) -> tuple[Body, list[Body]]:
    """Return the initial form of a streamed block and its deltas."""
    if block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])
        ]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        return block | {"input": {}}, [
            {"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(text)]
        ]
    return {"type": "text", "text": ""}, [
        {"type": "text_delta", "text": piece} for piece in pieces(block["text"])
    ]


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield server-sent events."""
    for event in event_objects(answer, request):
        yield sse(event, event["type"])
        if event["type"] == "message_start":
            yield sse({"type": "ping"}, "ping")
