"""Posts to the sandbox with one client: a new client reads the certificates of the machine first."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx


@cache
def _client() -> httpx.Client:
    """A client that opens a new connection for each request."""
    return httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))


def post(url: str, **content: Any) -> httpx.Response:
    return _client().post(url, **content)
