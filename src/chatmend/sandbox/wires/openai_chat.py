"""The chat-completions format of OpenAI and compatible providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.answers import Answer, NormalizedRequest, Tool
from chatmend.sandbox.memory import Segment, make_segment
from chatmend.sandbox.providers.chat_shape import function, text_of
from chatmend.sandbox.request import SandboxRequest, objects
from chatmend.sandbox.wires import CREATED, pieces, sse
from chatmend.sandbox.wires.chat_usage import usage_of, usage_position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Body = dict[str, Any]
MEDIA_TYPE = "text/event-stream; charset=utf-8"
MARKERS = False


def normalize(request: SandboxRequest) -> NormalizedRequest:
    """Read a chat-completions request."""
    body = request.body
    messages = objects(body.get("messages"))
    tools = tuple(
        Tool(str(function(t).get("name")), function(t).get("parameters") or {})
        for t in objects(body.get("tools"))
        if function(t)
    )
    said = next(
        (
            text_of(m.get("content"))
            for m in reversed(messages)
            if m.get("role") in ("user", "tool")
        ),
        "",
    )
    return NormalizedRequest(
        last_text=said,
        tools=tools,
        tool_choice=_choice(body.get("tool_choice", "auto")),
        ends_with_results=bool(messages) and messages[-1].get("role") == "tool",
        schema=_schema(body.get("response_format") or body.get("format")),
        wants_thinking=_thinks(body, request.model),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
    )


def _choice(choice: object) -> str:
    if isinstance(choice, dict):
        return str(function(choice).get("name"))
    return "required" if choice in ("required", "any", "REQUIRED") else str(choice).lower()


def _schema(answer_format: object) -> Body | None:
    if not isinstance(answer_format, dict):
        return None
    if "properties" in answer_format:
        return answer_format
    wrapped = answer_format.get("json_schema") or answer_format.get("schema")
    if isinstance(wrapped, dict):
        inner = wrapped.get("schema") or wrapped.get("schema_definition") or wrapped
        return inner if isinstance(inner, dict) else {}
    return (
        {"type": "object", "properties": {"answer": {"type": "string"}}}
        if answer_format.get("type") == "json_object"
        else None
    )


def _thinks(body: Body, model: str) -> bool:
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    named = (
        "reasoner",
        "thinking",
        "magistral",
        "deepseek-v4",
        "grok-3-mini",
        "grok-4.3",
        "reasoning-pro",
    )
    return bool(body.get("reasoning") or body.get("think")) or any(part in model for part in named)


def segments(request: SandboxRequest) -> list[Segment]:
    """Return the tools and each message."""
    tools = request.body.get("tools")
    head = [make_segment(tools)] if tools else []
    return head + [make_segment(message) for message in request.messages]


def message_of(answer: Answer, request: SandboxRequest) -> Body:
    """Return the assistant message of an answer."""
    message: Body = {"role": "assistant", "content": answer.text or None}
    if request.provider == "openai":
        message |= {"refusal": None, "annotations": []}
    if request.provider == "mistral":
        message["content"] = answer.text
    if answer.thought:
        message[
            "reasoning" if request.provider in ("openrouter", "groq") else "reasoning_content"
        ] = answer.thought
    if answer.calls:
        message["tool_calls"] = [_call(at, answer, request) for at in range(len(answer.calls))]
    return message


def _call(at: int, answer: Answer, request: SandboxRequest) -> Body:
    call = answer.calls[at]
    call_body: Body = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.text},
    }
    return call_body | {"index": at} if request.provider in ("mistral", "deepseek") else call_body


def response_body(answer: Answer, request: SandboxRequest) -> Body:
    """Return a ``chat.completion``."""
    choice = {
        "index": 0,
        "message": message_of(answer, request),
        "logprobs": None,
        "finish_reason": answer.finish,
    }
    return _head(answer, request, "chat.completion") | {
        "choices": [choice],
        "usage": usage_of(answer, request),
    }


def _head(answer: Answer, request: SandboxRequest, kind: str) -> Body:
    head: Body = {"id": answer.id, "object": kind, "created": CREATED, "model": answer.model}
    if request.provider in ("openai", "azure"):
        head |= {"service_tier": "default", "system_fingerprint": None}
    if request.provider == "openrouter":
        head |= {"system_fingerprint": None}  # a required key in OpenRouter's own SDK
    if request.provider == "groq":
        head |= {
            "service_tier": "on_demand",
            "system_fingerprint": "fp_sandbox",
            "x_groq": {"id": answer.id},
        }
    return head | ({"provider": "Sandbox"} if request.provider == "openrouter" else {})


def _deltas(answer: Answer, request: SandboxRequest) -> Iterator[Body]:
    yield {"role": "assistant", "content": ""}
    for piece in pieces(answer.thought):
        yield {
            "reasoning"
            if request.provider in ("openrouter", "groq")
            else "reasoning_content": piece
        }
    for piece in pieces(answer.text):
        yield {"content": piece}
    for at, call in enumerate(answer.calls):
        if request.provider in ("mistral", "groq"):
            yield {"tool_calls": [_call(at, answer, request) | {"index": at}]}
            continue
        opening = {"name": call.name, "arguments": ""}
        yield {
            "tool_calls": [{"index": at, "id": call.id, "type": "function", "function": opening}]
        }
        for piece in pieces(call.text):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def events(answer: Answer, request: SandboxRequest) -> Iterable[bytes]:
    """Yield ``chat.completion.chunk`` events, with the usage in the provider's position."""
    head, usage = _head(answer, request, "chat.completion.chunk"), usage_of(answer, request)
    position = usage_position(request)

    def chunk(delta: Body, more: Body, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse(head | {"choices": [choice]} | more)

    counted = {"usage": usage}
    running = counted if position == "every" else {}
    for delta in _deltas(answer, request):
        yield chunk(delta, running)
    yield chunk({}, counted if position in ("finish", "every") else {}, answer.finish)
    if position == "own":
        yield sse(head | {"choices": [], "usage": usage})
    if position == "after":
        yield chunk({"content": "", "role": "assistant"}, counted)
    yield b"data: [DONE]\n\n"
