"""A real HTTP server on loopback that keeps the bytes of each request and answers with given bytes."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Recorder:
    """What arrived, and what to answer."""

    url: str = ""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Method, path, headers and body of each request."""
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    """Status, headers and body of the next answers; the last one is repeated."""


@contextmanager
def recording(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[Recorder]:
    """Run the server in a thread."""
    recorder = Recorder(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._body()
            recorder.requests.append((self.command, self.path, dict(self.headers), body))
            status, headers, content = (
                recorder.answers.pop(0) if len(recorder.answers) > 1 else recorder.answers[0]
            )
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
