"""The generateContent format of Google AI Studio and Vertex."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatmend.sandbox.answers import Answer, NormalizedRequest, Tool
from chatmend.sandbox.memory import Segment, make_segment
from chatmend.sandbox.request import SandboxRequest, mapping, objects
from chatmend.sandbox.signatures import sign
from chatmend.sandbox.wires import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Body = dict[str, Any]
MEDIA_TYPE = "text/event-stream"
MARKERS = False
_STOPS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"}


def either(body: Any, camel: str) -> Any:
    """Return a field by its camel-case or snake-case name, as Google's parser accepts both.

    Return None if the body is not an object.
    """
    if not isinstance(body, dict):
        return None
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in camel)
    return body.get(camel, body.get(snake))


def normalize(request: SandboxRequest) -> NormalizedRequest:
    """Read a generateContent request."""
    body, contents = request.body, objects(request.body.get("contents"))
    config = either(body, "generationConfig") or {}
    last = objects(contents[-1].get("parts")) if contents else []
    answers = [
        either(part, "functionResponse") for part in last if either(part, "functionResponse")
    ]
    said = json.dumps(mapping(answers[-1]).get("response")) if answers else _said(contents)
    schema = either(config, "responseSchema") or either(config, "responseJsonSchema")
    wants_json = either(config, "responseMimeType") == "application/json"
    return NormalizedRequest(
        last_text=said,
        tools=tuple(_tools(body)),
        tool_choice=_choice(body),
        ends_with_results=bool(answers),
        schema=schema if isinstance(schema, dict) else {"type": "object"} if wants_json else None,
        wants_thinking=_thinks(config, request.model),
        max_tokens=either(config, "maxOutputTokens"),
    )


def _said(contents: list[Body]) -> str:
    for content in reversed(contents):
        if content.get("role", "user") == "user":
            return " ".join(str(part.get("text", "")) for part in objects(content.get("parts")))
    return ""


def _tools(body: Body) -> Iterator[Tool]:
    tools = body.get("tools")
    for group in objects(tools if isinstance(tools, list) else [tools]):
        for item in objects(either(group, "functionDeclarations")):
            schema = item.get("parameters") or either(item, "parametersJsonSchema") or {}
            yield Tool(str(item.get("name")), schema)


def _choice(body: Body) -> str:
    config = mapping(either(either(body, "toolConfig"), "functionCallingConfig"))
    mode, allowed = str(config.get("mode", "AUTO")).upper(), either(config, "allowedFunctionNames")
    if mode == "ANY":
        return str(allowed[0]) if allowed else "required"
    return "none" if mode == "NONE" else "auto"


def _thinks(config: Body, model: str) -> bool:
    thinking = either(config, "thinkingConfig") or {}
    budget = either(thinking, "thinkingBudget")
    return (
        bool(either(thinking, "includeThoughts") or budget or "gemini-3" in model) and budget != 0
    )


def segments(request: SandboxRequest) -> list[Segment]:
    """Return the system instruction, the tools, and each content."""
    head = [either(request.body, key) for key in ("systemInstruction", "tools")]
    return [
        make_segment(piece)
        for piece in [*filter(None, head), *objects(request.body.get("contents"))]
    ]


def _parts(answer: Answer, request: SandboxRequest) -> list[Body]:
    parts: list[Body] = []
    config = either(either(request.body, "generationConfig") or {}, "thinkingConfig") or {}
    if answer.thought and either(config, "includeThoughts"):
        parts.append({"text": answer.thought, "thought": True})
    if answer.text:
        parts += [{"text": piece} for piece in pieces(answer.text)]
    for at, call in enumerate(answer.calls):
        part: Body = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
        if "gemini-3" in request.model:
            part["functionCall"]["id"] = call.id
            part |= {"thoughtSignature": sign(request.model, call.name)} if at == 0 else {}
        parts.append(part)
    return parts


def usage_of(answer: Answer, request: SandboxRequest) -> Body:
    """Return the usage; candidates exclude thoughts, the prompt includes cached tokens."""
    spoken = answer.output_tokens - answer.thought_tokens
    usage: Body = {
        "promptTokenCount": answer.prompt.total,
        "candidatesTokenCount": spoken,
        "totalTokenCount": answer.prompt.total + answer.output_tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": answer.prompt.total}],
    }
    if answer.thought:
        usage["thoughtsTokenCount"] = answer.thought_tokens
    if answer.prompt.read:
        usage["cachedContentTokenCount"] = answer.prompt.read
        usage["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": answer.prompt.read}]
    return usage | ({"trafficType": "ON_DEMAND"} if request.provider == "vertex" else {})


def _chunk(answer: Answer, request: SandboxRequest, parts: list[Body], finish: str | None) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": usage_of(answer, request),
        "modelVersion": answer.model,
        "responseId": answer.id,
    }


def _merged(parts: list[Body]) -> list[Body]:
    merged: list[Body] = []
    for part in parts:
        if merged and part.keys() == {"text"} == merged[-1].keys():
            merged[-1] = {"text": merged[-1]["text"] + part["text"]}
        else:
            merged.append(part)
    return merged


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a ``GenerateContentResponse``."""
    return _chunk(answer, request, _merged(_parts(answer, request)), _STOPS[answer.finish])


def chunks(answer: Answer, request: SandboxRequest) -> Iterator[Body]:
    """Yield the responses of a stream; the usage in each is cumulative."""
    parts = _parts(answer, request) or [{"text": ""}]
    for at, part in enumerate(parts):
        yield _chunk(
            answer, request, [part], _STOPS[answer.finish] if at == len(parts) - 1 else None
        )


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield server-sent events with ``alt=sse``, otherwise the pieces of one JSON array."""
    if request.headers.get("x-sandbox-alt") == "sse":
        yield from (
            f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks(answer, request)
        )
        return
    opening = "["
    for chunk in chunks(answer, request):
        yield (opening + json.dumps(chunk, indent=2)).encode()
        opening = ",\r\n"
    yield b"]"
