"""A server whose answer to every request is a stream of 1,500 events in the Messages format.

python -m benchmarks.long_stream PORT
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EVENTS = 1_500
_USAGE = {"input_tokens": 9, "output_tokens": 1}
_MESSAGE = {
    "id": "msg_long", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [], "stop_reason": None, "stop_sequence": None, "usage": _USAGE,
}  # fmt: skip


def events() -> list[dict[str, Any]]:
    """Return the events of the stream."""
    delta = {"type": "text_delta", "text": "some words of an answer "}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": _MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": delta}] * (EVENTS - 5),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9_000}},
        {"type": "message_stop"},
    ]


class Handler(BaseHTTPRequestHandler):
    """Answers with the stream, one write for each event."""

    lines = tuple(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events())

    def do_POST(self) -> None:
        """Read the request and send the stream."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for line in self.lines:
            self.wfile.write(line)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
