"""Makes HTTP clients for SDKs, and repairs the requests of clients that exist already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from chatmend.transport.libraries import LIBRARIES, Library, import_with
from chatmend.transport.request_repair import RequestRepair

if TYPE_CHECKING:
    from typing import Unpack

    from chatmend.transport.request_repair import RepairOptions

Client = TypeVar("Client")
_MOST_CONNECTIONS, _MOST_IDLE = 1000, 100
"""Limits of connections, as in the clients that the SDKs of OpenAI and Anthropic make."""


def client(library: Library = "httpx", **options: Unpack[RepairOptions]) -> Any:  # noqa: ANN401
    """Return a new ``httpx.Client`` that repairs requests, for the ``http_client`` of an SDK.

    Redirects are followed, as by the clients of the SDKs. Pass a client of your own, for example
    with a proxy or HTTP/2, to ``repair_client`` instead.

    Args:
        library: ``"httpx"``, or ``"httpx2"`` for SDKs that need it, such as anthropic 2. The SDK
            raises ``TypeError`` for a client of the other library.
        options: ``policy``, ``target``, ``mode``, ``on_error``, ``react``, ``session_memory``; see
            ``RequestRepair``.

    Raises:
        PolicyError: an option has no such value.
        TargetError: no table describes ``target``.
        ModuleNotFoundError: the library is not installed.
    """
    return repair_client(_new_client(library, "Client"), **options)


def async_client(library: Library = "httpx", **options: Unpack[RepairOptions]) -> Any:  # noqa: ANN401
    """Return a new ``httpx.AsyncClient`` that repairs requests; see ``client``."""
    return repair_client(_new_client(library, "AsyncClient"), **options)


def repair_client(client: Client, **options: Unpack[RepairOptions]) -> Client:
    """Repair all requests of a client of httpx or httpx2, synchronous or asynchronous.

    Its proxies, timeouts, hooks and limits stay: only its transports are wrapped. So the default
    client of an SDK can be used, such as ``anthropic.DefaultHttpxClient()``.

    Args:
        client: the client; it is changed and returned.
        options: as in ``client``.

    Raises:
        TypeError: ``client`` is not a client of httpx or httpx2, or it repairs requests already.
        PolicyError: an option has no such value.
        TargetError: no table describes ``target``.
    """
    wrapper = _wrapper_for(client)
    repair = RequestRepair(**options)
    state: dict[str, Any] = vars(client)
    if isinstance(state["_transport"], wrapper):
        raise TypeError("this client repairs requests already")
    state["_transport"] = wrapper(state["_transport"], repair)
    state["_mounts"] = {
        pattern: None if transport is None else wrapper(transport, repair)
        for pattern, transport in state["_mounts"].items()
    }
    return client


def _new_client(library: Library, name: str) -> Any:  # noqa: ANN401 - a client of either library
    if library not in LIBRARIES:
        raise TypeError(f"library={library!r} is invalid; choose 'httpx' or 'httpx2'")
    module = import_with(library)
    limits = module.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=_MOST_IDLE)
    return getattr(module, name)(follow_redirects=True, limits=limits)


def _wrapper_for(client: object) -> Any:  # noqa: ANN401 - a class of either library
    """Return the transport class for a client."""
    for parent in type(client).__mro__:
        library = parent.__module__.partition(".")[0]
        if library in LIBRARIES and parent.__name__ in {"Client", "AsyncClient"}:
            module = import_with(f"chatmend.transport.for_{library}")
            prefix = parent.__name__.removesuffix("Client")
            return getattr(module, f"{prefix}Transport{library.removeprefix('httpx')}")
    raise TypeError(
        f"{type(client).__name__} is not a client of httpx or httpx2; "
        "pass the http_client of the SDK, not the SDK's own client"
    )
