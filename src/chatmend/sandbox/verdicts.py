"""Says how a provider would answer a request body, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmend.sandbox.endpoints import ENDPOINTS
from chatmend.sandbox.memory import SandboxMemory
from chatmend.sandbox.refusals import load_table
from chatmend.sandbox.request import SandboxRequest

if TYPE_CHECKING:
    from chatmend.sandbox.endpoints import Endpoint
    from chatmend.sandbox.refusals import RefusalResponse

_WIRES = {"gemini_contents": "gemini"}
"""Wire formats whose module here has another name."""
_PROVIDERS = {"vertex_ai": "vertex"}


def endpoint_of(provider: str, wire_format: str) -> Endpoint | None:
    """Return the endpoint of a provider for a wire format; None if the sandbox has none."""
    wire, owner = _WIRES.get(wire_format, wire_format), _owner(provider)
    return next(
        (
            endpoint
            for endpoint in ENDPOINTS
            if endpoint.provider == owner
            and not endpoint.counts_tokens
            and str(getattr(endpoint.wire, "__name__", "")).endswith(f".{wire}")
        ),
        None,
    )


def has_endpoint(provider: str) -> bool:
    """Whether the sandbox has an endpoint of a provider, for any wire format."""
    return any(endpoint.provider == _owner(provider) for endpoint in ENDPOINTS)


def _owner(provider: str) -> str:
    return _PROVIDERS.get(provider, provider)


def refusal_of(endpoint: Endpoint, body: dict[str, Any], model: str) -> RefusalResponse | None:
    """Return the refusal of a request body, or None if the provider accepts it."""
    table = load_table(endpoint.table)
    request = SandboxRequest(
        provider=endpoint.provider,
        model=str(body.get("model") or model),
        body=body,
        memory=SandboxMemory(),
        table=endpoint.table,
    )
    found = table.first_refused(endpoint.faults(request), request.provider, request.model)
    if found is None:
        return None
    rule, broken = found
    return table.refuse(rule, broken.values, f"req_{request.digest()[:24]}")
