"""The settings of the HTTP server: slow clients are disconnected and do not delay its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    import asyncio

    from starlette.applications import Starlette

REQUEST_TIMEOUT = 60.0
"""Seconds in which a client must have sent a request."""
KEEP_ALIVE = 75
"""Seconds after which an idle connection is closed.

httpx keeps one for 5 seconds. With the same limit here (uvicorn's default), a request could be sent
on a connection that is being closed: ``Server disconnected without sending a response``.
"""
_GRACE = 3
"""Seconds that open connections have to end when the server stops."""


def server_config(app: Starlette, log_level: str, request_timeout: float) -> uvicorn.Config:
    """Return the configuration of a server for an application."""
    return uvicorn.Config(
        app,
        http=_impatient(request_timeout),
        log_level=log_level,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
    )


def _impatient(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, but it closes connections on which no request begins in time.

    uvicorn has no limit for the headers of a request. The application limits the body.
    """
    # The base class depends on the installed packages.
    protocol = cast("Any", AutoHTTPProtocol)

    class Impatient(protocol):  # type: ignore[misc,valid-type]
        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.stop_timer()

        def watch(self) -> None:
            """Run the timer while the headers of a request are missing."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.stop_timer()
            elif self.timer is None:
                self.timer = self.loop.call_later(seconds, self.transport.close)

        def stop_timer(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    return Impatient
