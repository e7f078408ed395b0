"""A provider that accepts every request, stores it as bytes and returns fixed answers.

The answer has the wire format of the requested path.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, NamedTuple, Self

CREATED = 1_760_000_000
CHAT_USAGE = {
    "prompt_tokens": 21,
    "completion_tokens": 5,
    "total_tokens": 26,
    "prompt_tokens_details": {"cached_tokens": 8},
}
CHAT = {
    "id": "chatcmpl-fixed",
    "object": "chat.completion",
    "created": CREATED,
    "model": "fixed-model",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Grüße!"}, "finish_reason": "stop"}
    ],
    "usage": CHAT_USAGE,
}
_CHUNK = {
    "id": "chatcmpl-fixed",
    "object": "chat.completion.chunk",
    "created": CREATED,
    "model": "fixed-model",
}
CHAT_EVENTS: list[Any] = [
    {
        **_CHUNK,
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": "Grü"}, "finish_reason": None}
        ],
    },
    {
        **_CHUNK,
        "choices": [{"index": 0, "delta": {"content": 'ße "usage"!'}, "finish_reason": None}],
    },
    {**_CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {**_CHUNK, "choices": [], "usage": CHAT_USAGE},
    "[DONE]",
]
_CACHED = {"cache_creation_input_tokens": 4, "cache_read_input_tokens": 8}
MESSAGE = {
    "id": "msg_fixed",
    "type": "message",
    "role": "assistant",
    "model": "fixed-model",
    "content": [{"type": "text", "text": "Grüße!"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, **_CACHED, "output_tokens": 5},
}
MESSAGE_EVENTS: list[Any] = [
    {
        "type": "message_start",
        "message": {
            **MESSAGE,
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 9, **_CACHED, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": 'Grüße "usage"!'},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
]
_TEXT = {"type": "output_text", "text": "Grüße!", "annotations": []}
_ITEM = {
    "id": "msg_fixed",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [_TEXT],
}
RESPONSE: dict[str, Any] = {
    "id": "resp_fixed",
    "object": "response",
    "created_at": CREATED,
    "status": "completed",
    "model": "fixed-model",
    "output": [_ITEM],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "temperature": 1.0,
    "top_p": 1.0,
    "usage": {
        "input_tokens": 21,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 26,
    },
}
COMPACTION: dict[str, Any] = {
    "id": "resp_fixed",
    "object": "response.compaction",
    "created_at": CREATED,
    "output": [{"id": "cmp_fixed", "type": "compaction", "encrypted_content": "gAAA"}],
    "usage": RESPONSE["usage"],
}
_IN_PROGRESS = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
_AT = {"item_id": "msg_fixed", "output_index": 0, "content_index": 0}
RESPONSE_EVENTS: list[Any] = [
    {"type": "response.created", "sequence_number": 0, "response": _IN_PROGRESS},
    {
        "type": "response.output_item.added",
        "sequence_number": 1,
        "output_index": 0,
        "item": {**_ITEM, "content": [], "status": "in_progress"},
    },
    {
        "type": "response.content_part.added",
        "sequence_number": 2,
        **_AT,
        "part": {**_TEXT, "text": ""},
    },
    {
        "type": "response.output_text.delta",
        "sequence_number": 3,
        **_AT,
        "delta": "Grüße!",
        "logprobs": [],
    },
    {
        "type": "response.output_text.done",
        "sequence_number": 4,
        **_AT,
        "text": "Grüße!",
        "logprobs": [],
    },
    {"type": "response.content_part.done", "sequence_number": 5, **_AT, "part": _TEXT},
    {"type": "response.output_item.done", "sequence_number": 6, "output_index": 0, "item": _ITEM},
    {"type": "response.completed", "sequence_number": 7, "response": RESPONSE},
]
_COUNTS = {
    "promptTokenCount": 21,
    "candidatesTokenCount": 5,
    "totalTokenCount": 26,
    "cachedContentTokenCount": 8,
}


def _contents(text: str, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}
    return {
        "candidates": [candidate],
        "usageMetadata": _COUNTS,
        "modelVersion": "fixed-model",
        "responseId": "gemini-fixed",
    }


CONTENTS = _contents("Grüße!", finishReason="STOP")
CONTENTS_EVENTS: list[Any] = [_contents("Grü"), _contents("ße!", finishReason="STOP")]


class Received(NamedTuple):
    """A received request."""

    path: str
    body: bytes


class Recorder:
    """The server, on a free port of the loopback interface."""

    def __init__(self) -> None:
        """Bind the port; a ``with`` statement starts the server."""
        self._received: list[Received] = []
        self._lock = Lock()
        recorder = self

        class Handler(_Handler):
            def keep(self, body: bytes) -> None:
                with recorder._lock:
                    recorder._received.append(Received(self.path, body))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        """Start the server in a thread."""
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{path}"

    def take(self) -> list[Received]:
        """Return the requests that arrived since the last call."""
        with self._lock:
            taken, self._received = self._received, []
        return taken


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def keep(self, body: bytes) -> None:
        raise NotImplementedError

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.keep(body)
        kind, sent = answer(self.path.partition("?")[0], body)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def answer(path: str, body: bytes) -> tuple[str, bytes]:
    """Return the content type and the body of the answer to a request."""
    whole, events, named = _answers(path)
    if path.endswith(":streamGenerateContent") or (
        events and json.loads(body or b"{}").get("stream")
    ):
        return "text/event-stream", b"".join(_event(event, named=named) for event in events)
    return "application/json", json.dumps(whole, ensure_ascii=False).encode()


def _answers(path: str) -> tuple[Any, list[Any], bool]:
    if path.endswith("/messages"):
        return MESSAGE, MESSAGE_EVENTS, True
    if path.endswith("/responses"):
        return RESPONSE, RESPONSE_EVENTS, True
    if path.endswith("/responses/compact"):
        return COMPACTION, [], True
    if path.endswith("enerateContent"):
        return CONTENTS, CONTENTS_EVENTS, False
    return CHAT, CHAT_EVENTS, False


def _event(event: Any, *, named: bool) -> bytes:
    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    name = f"event: {event['type']}\n" if named else ""
    return f"{name}data: {text}\n\n".encode()
