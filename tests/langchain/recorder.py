"""A loopback server that answers with recorded bodies and stores the requests.

It supports every wire format that a partner class uses. A test chooses the usage object; the
server puts it where the provider puts it, in whole responses and in streams.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from chatmend.sandbox import eventstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Body = dict[str, Any]


@dataclass(frozen=True)
class Wire:
    """The responses of one API: a whole body, and the bytes of a stream."""

    whole: Callable[[Body, Body], Body]
    """Build the response body from the request and the usage object."""
    stream: Callable[[Body, Body], Iterator[bytes]]
    media_type: str = "text/event-stream"


_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
_INVOKE_METRICS = dict(
    zip(
        (
            "inputTokenCount",
            "outputTokenCount",
            "cacheReadInputTokenCount",
            "cacheWriteInputTokenCount",
        ),
        _COUNTED,
        strict=True,
    )
)
_INVOKE_HEADERS = dict(
    zip(("input", "output", "cache-read-input", "cache-write-input"), _COUNTED, strict=True)
)
"""Bedrock repeats Claude's token counts in the last event of a stream and in headers."""


def _sse(data: Any, event: str | None = None) -> bytes:
    return (
        f"event: {event}\n" if event else ""
    ).encode() + f"data: {json.dumps(data)}\n\n".encode()


def _echo(request: Body) -> Body:
    tier = {"service_tier": request["service_tier"]} if "service_tier" in request else {}
    return {"model": request.get("model", "m"), **tier}


def _chat_head(request: Body, kind: str) -> Body:
    head = {"id": "chatcmpl-1", "object": kind, "created": 1_767_225_600}
    return {**head, "system_fingerprint": None, **_echo(request)}


def _chat(request: Body, usage: Body) -> Body:
    message = {"role": "assistant", "content": "Hello."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _chat_head(request, "chat.completion") | {"choices": [choice], "usage": usage}


def _chat_stream(request: Body, usage: Body, usage_in: str) -> Iterator[bytes]:
    head = _chat_head(request, "chat.completion.chunk")

    def chunk(delta: Body, finish: str | None = None, **more: Any) -> bytes:
        return _sse(
            head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | more
        )

    every = {"usage": usage} if usage_in == "every" else {}
    yield chunk({"role": "assistant", "content": "Hel"}, **every)
    yield chunk({"content": "lo."}, **every)
    ends = {"x_groq": {"id": "r", "usage": usage}} if usage_in == "groq" else {"usage": usage}
    yield chunk({}, "stop", **(ends if usage_in != "own" else {}))
    if usage_in == "own":
        yield _sse(head | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _chats(usage_in: str) -> Wire:
    return Wire(_chat, lambda request, usage: _chat_stream(request, usage, usage_in))


def _response(request: Body, usage: Body, status: str = "completed") -> Body:
    part = {"type": "output_text", "text": "Hello.", "annotations": []}
    item = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    done = status == "completed"
    return {
        "id": "resp_1", "object": "response", "created_at": 1_767_225_600, "status": status,
        "output": [item] if done else [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": usage if done else None, **_echo(request),
    }  # fmt: skip


def _response_stream(request: Body, usage: Body) -> Iterator[bytes]:
    (item,) = _response(request, usage)["output"]
    position = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    events: list[Body] = [
        {"type": "response.created", "response": _response(request, usage, "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {
            "type": "response.content_part.added",
            **position,
            "part": item["content"][0] | {"text": ""},
        },
        {"type": "response.output_text.delta", **position, "delta": "Hello.", "logprobs": []},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": _response(request, usage)},
    ]
    for number, event in enumerate(events):
        yield _sse(event | {"sequence_number": number}, event["type"])


def _message(request: Body, usage: Body) -> Body:
    content = [{"type": "text", "text": "Hello."}]
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "claude-haiku-4-5"),
    }
    return head | {
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _message_events(request: Body, usage: Body) -> list[Body]:
    """Return the events as recorded.

    The first event reports all input tokens. The last one reports the output tokens and repeats the
    input tokens, but without the split by cache lifetime.
    """
    start = _message(request, usage | {"output_tokens": 1}) | {"content": [], "stop_reason": None}
    end = {
        key: count for key, count in usage.items() if key not in ("cache_creation", "service_tier")
    }
    text = {"type": "text", "text": ""}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Hello."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": end,
        },
        {"type": "message_stop"},
    ]


def _message_stream(request: Body, usage: Body) -> Iterator[bytes]:
    for event in _message_events(request, usage):
        yield _sse(event, event["type"])


def _invoke_stream(request: Body, usage: Body) -> Iterator[bytes]:
    for event in _message_events(request, usage):
        counts = {name: usage[key] for name, key in _INVOKE_METRICS.items() if key in usage}
        more = (
            {"amazon-bedrock-invocationMetrics": counts} if event["type"] == "message_stop" else {}
        )
        encoded = base64.b64encode(json.dumps(event | more).encode()).decode()
        yield eventstream.frame("chunk", {"bytes": encoded})


def _converse(_request: Body, usage: Body) -> Body:
    message = {"role": "assistant", "content": [{"text": "Hello."}]}
    return {
        "output": {"message": message},
        "stopReason": "end_turn",
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }


def _converse_stream(_request: Body, usage: Body) -> Iterator[bytes]:
    yield eventstream.frame("messageStart", {"role": "assistant"})
    yield eventstream.frame(
        "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hello."}}
    )
    yield eventstream.frame("contentBlockStop", {"contentBlockIndex": 0})
    yield eventstream.frame("messageStop", {"stopReason": "end_turn"})
    yield eventstream.frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def _line(request: Body, text: str, usage: Body) -> Body:
    message = {"role": "assistant", "content": text}
    done = {"done": True, "done_reason": "stop", **usage} if usage else {"done": False}
    return {
        "model": request.get("model", "m"),
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        **done,
    }


def _lines(request: Body, usage: Body) -> Iterator[bytes]:
    for text, counts in (("Hello.", {}), ("", usage)):
        yield json.dumps(_line(request, text, counts)).encode() + b"\n"


def _contents(
    _request: Body, usage: Body, text: str = "Hello.", finish: str | None = "STOP"
) -> Body:
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"index": 0, "content": content} | ({"finishReason": finish} if finish else {})
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini",
        "responseId": "r1",
    }


def _contents_stream(request: Body, usage: Body) -> Iterator[bytes]:
    """Yield chunks, each of which repeats the whole usage so far."""
    yield _sse(_contents(request, usage, "Hel", None))
    yield _sse(_contents(request, usage, "lo."))


WIRES = {
    "chat": _chats("own"),
    "mistral": _chats("finish"),
    "groq": _chats("groq"),
    "every": _chats("every"),
    "responses": Wire(_response, _response_stream),
    "messages": Wire(_message, _message_stream),
    "invoke": Wire(_message, _invoke_stream, eventstream.MEDIA_TYPE),
    "converse": Wire(_converse, _converse_stream, eventstream.MEDIA_TYPE),
    "ollama": Wire(
        lambda request, usage: _line(request, "Hello.", usage), _lines, "application/x-ndjson"
    ),
    "gemini": Wire(_contents, _contents_stream),
}


@dataclass
class Recorder:
    """The server; ``url(wire)`` is the base URL of a wire format."""

    usage: Body = field(default_factory=dict)
    """The usage object of the next responses."""
    body: Body | None = None
    """The whole body of the next responses that are not streams; None for the usual one."""
    events: list[Body] | None = None
    """The events of the next streams of Anthropic's API; None for the usual ones."""
    requests: list[Body] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Bind to a free port."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def url(self, wire: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{wire}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(recorder: Recorder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            recorder.requests.append(request)
            wire = WIRES[self.path.split("/")[1]]
            streams = (
                request.get("stream", "/api/chat" in self.path) or "stream" in self.path.lower()
            )
            if streams and recorder.events is not None:
                body = b"".join(_sse(event, event["type"]) for event in recorder.events)
                kind = wire.media_type
            elif streams and recorder.body is None:
                body, kind = b"".join(wire.stream(request, recorder.usage)), wire.media_type
            else:
                whole = recorder.body or wire.whole(request, recorder.usage)
                body, kind = json.dumps(whole).encode(), "application/json"
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            for name, key in _INVOKE_HEADERS.items():
                if "/model/" in self.path and key in recorder.usage:
                    self.send_header(f"x-amzn-bedrock-{name}-token-count", str(recorder.usage[key]))
            self.end_headers()
            self.wfile.write(body)

    return Handler
