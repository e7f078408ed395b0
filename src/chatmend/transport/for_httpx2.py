"""Transports for httpx2 that repair requests."""

from __future__ import annotations

import httpx2

from chatmend.transport.httpx_requests import RepairingSender
from chatmend.transport.request_repair import RequestRepair


class Transport2(httpx2.BaseTransport):
    """Repairs requests and sends them with another transport of httpx2.

    Responses have a ``RequestReport`` in ``response.extensions["chatmend"]``.
    """

    def __init__(
        self,
        transport: httpx2.BaseTransport | None = None,
        repair: RequestRepair | None = None,
    ) -> None:
        """Wrap a transport, by default a new ``HTTPTransport``; ``repair`` holds the options."""
        self._transport = transport or httpx2.HTTPTransport()
        self._sender = RepairingSender(httpx2, repair or RequestRepair())

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Repair and send a request."""
        response: httpx2.Response = self._sender.send(request, self._transport.handle_request)
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self._transport.close()


class AsyncTransport2(httpx2.AsyncBaseTransport):
    """Repairs requests and sends them with another asynchronous transport of httpx2."""

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        repair: RequestRepair | None = None,
    ) -> None:
        """Wrap a transport, by default a new ``AsyncHTTPTransport``; see ``Transport2``."""
        self._transport = transport or httpx2.AsyncHTTPTransport()
        self._sender = RepairingSender(httpx2, repair or RequestRepair())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Repair and send a request."""
        send = self._transport.handle_async_request
        response: httpx2.Response = await self._sender.send_async(request, send)
        return response

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()
