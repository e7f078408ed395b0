"""Signs requests for AWS again, whose bodies the proxy has written anew.

The signature of an agent covers the bytes of its request, and the proxy writes the JSON anew. So
the proxy signs the request with its own AWS credentials, from the same environment variables and
files as the agent's.
"""

from __future__ import annotations

import json
import logging
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx
from anyio import to_thread

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_log = logging.getLogger("chatmend.litellm")
_SIGNED = "AWS4-HMAC-SHA256"
_SIGNATURE_HEADERS = frozenset(
    {"authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}
)
_FORBIDDEN = 403
_NO_CREDENTIALS = (
    "chatmend proxy cannot forward a request that is signed for AWS: it has no AWS credentials. "
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where the proxy runs, or let the agent use a "
    "Bedrock API key (AWS_BEARER_TOKEN_BEDROCK)."
)


class SigningTransport(httpx.AsyncBaseTransport):
    """Signs requests that arrive with an AWS signature, and sends all with another transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        """Wrap a transport."""
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; answer 403 if it needs a signature and no credentials were found."""
        if not request.headers.get("authorization", "").startswith(_SIGNED):
            return await self._transport.handle_async_request(request)
        credentials = await to_thread.run_sync(_credentials)
        if credentials is None:
            _log.warning("%s", _NO_CREDENTIALS)
            body = json.dumps({"message": _NO_CREDENTIALS}).encode()
            return httpx.Response(
                _FORBIDDEN, headers={"content-type": "application/json"}, content=body
            )
        content = await request.aread()
        headers = await to_thread.run_sync(_sign, request, content, credentials)
        signed = httpx.Request(
            request.method,
            request.url,
            headers=headers,
            content=content,
            extensions=request.extensions,
        )
        return await self._transport.handle_async_request(signed)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()


@cache
def _credentials() -> Credentials | None:
    """Return the credentials of the proxy; they renew themselves."""
    from botocore.session import Session  # noqa: PLC0415 - only signed requests need it

    return Session().get_credentials()


def _sign(request: httpx.Request, content: bytes, credentials: Any) -> dict[str, str]:
    """Return the headers of a request with a new signature for the same region and service."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    scope = request.headers["authorization"].partition("Credential=")[2].partition(",")[0]
    _, _, region, service, _ = scope.rsplit("/", 4)
    kept = {k: v for k, v in request.headers.items() if k not in _SIGNATURE_HEADERS}
    content_type = {k: v for k, v in kept.items() if k == "content-type"}
    signed = AWSRequest(request.method, str(request.url), headers=content_type, data=content)
    SigV4Auth(credentials.get_frozen_credentials(), service, region).add_auth(signed)
    return {**kept, **dict(signed.headers.items())}
