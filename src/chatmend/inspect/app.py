"""The local app of the inspector: serves the front end and answers its questions."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from chatmend.failures import reason_of
from chatmend.inspect.answer import answer

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request as Http
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page: it loads nothing from another server."""
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_LOCAL_NAMES = ["127.0.0.1", "localhost", "[::1]"]
_BAD_REQUEST, _FAILED = 400, 500


def build(token: str, document: Path | None = None) -> Starlette:
    """Build the app.

    Args:
        token: the first part of each path. Other pages in the browser and other users of the
            machine do not know it, so they cannot read the document.
        document: a file that the page opens.
    """

    async def ask(http: Http) -> Response:
        raw = await http.body()
        return await run_in_threadpool(_answer, raw)

    async def settings(_http: Http) -> Response:
        name = document.name if document is not None else None
        return JSONResponse({"transport": "http", "document": name})

    async def opened(_http: Http) -> Response:
        return await run_in_threadpool(_read, document)

    routes = [
        Route("/ask", ask, methods=["POST"]),
        Route("/settings.json", settings),
        Route("/document", opened),
        Mount("/", StaticFiles(directory=str(files(__package__).joinpath("static")), html=True)),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=_LOCAL_NAMES),
            Middleware(_Headers),
        ],
    )


class _Headers:
    """Adds the security headers to each response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [
                    *(pair for pair in message["headers"] if pair[0].decode() not in _HEADERS),
                    *headers,
                ]
            await send(message)

        await self._app(scope, receive, with_headers)


def _answer(raw: bytes) -> Response:
    try:
        question = json.loads(raw)
        if not isinstance(question, dict):
            return PlainTextResponse("a question is a JSON object", _BAD_REQUEST)
        return JSONResponse(answer(question))
    except ValueError as error:
        return PlainTextResponse(f"the question cannot be read: {error}", _BAD_REQUEST)
    except Exception as error:  # noqa: BLE001 - the page shows the reason
        return PlainTextResponse(f"chatmend failed: {reason_of(error)}", _FAILED)


def _read(document: Path | None) -> Response:
    if document is None:
        return PlainTextResponse("no file was opened", 404)
    try:
        return Response(document.read_bytes(), media_type="text/plain; charset=utf-8")
    except OSError as error:
        return PlainTextResponse(f"{document}: could not be read: {error.strerror}", _FAILED)
