"""The chat-completions dialect, as OpenAI and those who follow it speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.answers import Answer, Ask, Tool
from chatmend.sandbox.memory import Segment, segment
from chatmend.sandbox.providers.chat_shape import function, text_of
from chatmend.sandbox.request import Request, objects
from chatmend.sandbox.wires import CREATED, pieces, sse
from chatmend.sandbox.wires.chat_usage import streamed_in, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Body = dict[str, Any]
MEDIA_TYPE = "text/event-stream; charset=utf-8"
MARKERS = False


def ask(request: Request) -> Ask:
    """What a chat-completions request asks for."""
    body = request.body
    messages = objects(body.get("messages"))
    tools = tuple(
        Tool(str(function(t).get("name")), function(t).get("parameters") or {})
        for t in objects(body.get("tools"))
        if function(t)
    )
    said = next((text_of(m.get("content")) for m in reversed(messages) if m.get("role") in ("user", "tool")), "")
    return Ask(
        said=said,
        tools=tools,
        choice=_choice(body.get("tool_choice", "auto")),
        results=bool(messages) and messages[-1].get("role") == "tool",
        schema=_schema(body.get("response_format") or body.get("format")),
        thinks=_thinks(body, request.model),
        most=body.get("max_completion_tokens") or body.get("max_tokens"),
    )


def _choice(choice: object) -> str:
    if isinstance(choice, dict):
        return str(function(choice).get("name"))
    return "required" if choice in ("required", "any", "REQUIRED") else str(choice).lower()


def _schema(form: object) -> Body | None:
    if not isinstance(form, dict):
        return None
    if "properties" in form:
        return form
    wrapped = form.get("json_schema") or form.get("schema")
    if isinstance(wrapped, dict):
        inner = wrapped.get("schema") or wrapped.get("schema_definition") or wrapped
        return inner if isinstance(inner, dict) else {}
    return (
        {"type": "object", "properties": {"answer": {"type": "string"}}} if form.get("type") == "json_object" else None
    )


def _thinks(body: Body, model: str) -> bool:
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    named = ("reasoner", "thinking", "magistral", "deepseek-v4", "grok-3-mini", "grok-4.3", "reasoning-pro")
    return bool(body.get("reasoning") or body.get("think")) or any(part in model for part in named)


def segments(request: Request) -> list[Segment]:
    """Tools, then the messages one by one."""
    tools = request.body.get("tools")
    head = [segment(tools)] if tools else []
    return head + [segment(message) for message in request.messages]


def message_of(answer: Answer, request: Request) -> Body:
    """The assistant message of an answer."""
    message: Body = {"role": "assistant", "content": answer.text or None}
    if request.provider == "openai":
        message |= {"refusal": None, "annotations": []}
    if request.provider == "mistral":
        message["content"] = answer.text
    if answer.thought:
        message["reasoning" if request.provider in ("openrouter", "groq") else "reasoning_content"] = answer.thought
    if answer.calls:
        message["tool_calls"] = [_call(at, answer, request) for at in range(len(answer.calls))]
    return message


def _call(at: int, answer: Answer, request: Request) -> Body:
    call = answer.calls[at]
    shown: Body = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
    return shown | {"index": at} if request.provider in ("mistral", "deepseek") else shown


def whole(answer: Answer, request: Request) -> Body:
    """A ``chat.completion``."""
    choice = {"index": 0, "message": message_of(answer, request), "logprobs": None, "finish_reason": answer.finish}
    return _head(answer, request, "chat.completion") | {"choices": [choice], "usage": usage_of(answer, request)}


def _head(answer: Answer, request: Request, kind: str) -> Body:
    head: Body = {"id": answer.id, "object": kind, "created": CREATED, "model": answer.model}
    if request.provider in ("openai", "azure"):
        head |= {"service_tier": "default", "system_fingerprint": None}
    if request.provider == "groq":
        head |= {"service_tier": "on_demand", "system_fingerprint": "fp_sandbox", "x_groq": {"id": answer.id}}
    return head | ({"provider": "Sandbox"} if request.provider == "openrouter" else {})


def _deltas(answer: Answer, request: Request) -> Iterator[Body]:
    yield {"role": "assistant", "content": ""}
    for piece in pieces(answer.thought):
        yield {"reasoning" if request.provider in ("openrouter", "groq") else "reasoning_content": piece}
    for piece in pieces(answer.text):
        yield {"content": piece}
    for at, call in enumerate(answer.calls):
        if request.provider in ("mistral", "groq"):
            yield {"tool_calls": [_call(at, answer, request) | {"index": at}]}
            continue
        opening = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": at, "id": call.id, "type": "function", "function": opening}]}
        for piece in pieces(call.text):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def events(answer: Answer, request: Request) -> Iterable[bytes]:
    """``chat.completion.chunk`` events; the usage stands where the provider puts it."""
    head, usage = _head(answer, request, "chat.completion.chunk"), usage_of(answer, request)
    place = streamed_in(request)

    def chunk(delta: Body, more: Body, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse(head | {"choices": [choice]} | more)

    counted = {"usage": usage}
    running = counted if place == "every" else {}
    for delta in _deltas(answer, request):
        yield chunk(delta, running)
    yield chunk({}, counted if place in ("finish", "every") else {}, answer.finish)
    if place == "own":
        yield sse(head | {"choices": [], "usage": usage})
    if place == "after":
        yield chunk({"content": "", "role": "assistant"}, counted)
    yield b"data: [DONE]\n\n"
