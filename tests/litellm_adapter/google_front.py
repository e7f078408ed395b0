"""A forward proxy that answers for Google's Vertex AI with the sandbox.

LiteLLM's pass-through route ``/vertex_ai`` always calls ``https://{location}-aiplatform.googleapis.com``.
A LiteLLM proxy that runs with these variables sends such a request here instead.
"""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = "us-central1-aiplatform.googleapis.com"
_PASSED_ON = ("content-type",)


@contextmanager
def answering_for_vertex(sandbox: Any, folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment variables of a program whose requests to Vertex AI come here."""
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    trusted = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            """Open a tunnel that ends here."""
            if self.path != f"{HOST}:443":
                self.send_error(502)
                return
            self.send_response(200)
            self.end_headers()
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)
            self.close_connection = False

        def do_POST(self) -> None:
            """Send the request to the sandbox, and its answer back."""
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name: self.headers[name] for name in (*_PASSED_ON, "authorization")}
            answer = httpx.post(sandbox.url(f"vertex{self.path}"), content=body, headers=headers)
            self.send_response(answer.status_code)
            for name in _PASSED_ON:
                self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        yield {"HTTPS_PROXY": address, "SSL_CERT_FILE": str(trusted)}
        server.shutdown()
        thread.join()
