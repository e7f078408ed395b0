"""Transports for httpx that repair requests."""

from __future__ import annotations

import httpx

from chatmend.transport.httpx_requests import RepairingSender
from chatmend.transport.request_repair import RequestRepair


class Transport(httpx.BaseTransport):
    """Repairs requests and sends them with another transport of httpx.

    Responses have a ``RequestReport`` in ``response.extensions["chatmend"]``.
    """

    def __init__(
        self,
        transport: httpx.BaseTransport | None = None,
        repair: RequestRepair | None = None,
    ) -> None:
        """Wrap a transport, by default a new ``HTTPTransport``; ``repair`` holds the options."""
        self._transport = transport or httpx.HTTPTransport()
        self._sender = RepairingSender(httpx, repair or RequestRepair())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Repair and send a request."""
        response: httpx.Response = self._sender.send(request, self._transport.handle_request)
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self._transport.close()


class AsyncTransport(httpx.AsyncBaseTransport):
    """Repairs requests and sends them with another asynchronous transport of httpx."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        repair: RequestRepair | None = None,
    ) -> None:
        """Wrap a transport, by default a new ``AsyncHTTPTransport``; see ``Transport``."""
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._sender = RepairingSender(httpx, repair or RequestRepair())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Repair and send a request."""
        send = self._transport.handle_async_request
        response: httpx.Response = await self._sender.send_async(request, send)
        return response

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()
