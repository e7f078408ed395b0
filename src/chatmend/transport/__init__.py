"""Repairs the requests of any Python SDK that sends them with httpx, httpx2 or botocore.

Give an SDK a client of this module, or register the hook of boto3:

    OpenAI(http_client=chatmend.transport.client())
    Anthropic(http_client=chatmend.transport.client("httpx2"))
    chatmend.transport.repair_boto3(boto3.client("bedrock-runtime"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.transport.calls import RequestReport
from chatmend.transport.libraries import import_with
from chatmend.transport.request_repair import RequestRepair

if TYPE_CHECKING:
    from chatmend.transport.boto import repair_boto3
    from chatmend.transport.clients import async_client, client, repair_client
    from chatmend.transport.for_httpx import AsyncTransport, Transport
    from chatmend.transport.for_httpx2 import AsyncTransport2, Transport2

_MODULES = {
    "AsyncTransport": "for_httpx",
    "AsyncTransport2": "for_httpx2",
    "Transport": "for_httpx",
    "Transport2": "for_httpx2",
    "async_client": "clients",
    "client": "clients",
    "repair_boto3": "boto",
    "repair_client": "clients",
}
"""The modules of names that need a library which may be absent."""

__all__ = [
    "AsyncTransport",
    "AsyncTransport2",
    "RequestRepair",
    "RequestReport",
    "Transport",
    "Transport2",
    "async_client",
    "client",
    "repair_boto3",
    "repair_client",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - classes and functions
    """Import a name with its library when it is used first."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_with(f"{__name__}.{_MODULES[name]}"), name)
