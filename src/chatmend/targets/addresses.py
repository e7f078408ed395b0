"""Finds the target behind a base URL, because clients of one provider may call another one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from chatmend.targets.resolve import UNKNOWN
from chatmend.targets.tables import host_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLIENTS = frozenset(
    {
        "openai",
        "custom_openai",
        "openai_like",
        "text-completion-openai",
        "anthropic",
        "anthropic_text",
    }
)
"""Providers whose clients are also used with servers of other providers."""


def target_at_address(name: str, address: str | None, known: Mapping[str, str]) -> str:
    """Return the name of the target behind an address.

    Args:
        name: the target in the client's configuration, ``provider/model``.
        address: the base URL of the client; None or empty means the provider's own.
        known: addresses configured by the operator, each with the provider whose limits apply.

    Returns:
        ``name`` if the address is the provider's own, ``host/model`` if it belongs to another known
        provider, and ``openai_compatible/model`` if the server is unknown; for such servers no key
        is removed or renamed. Claude with Anthropic's client keeps its name on unknown servers.
    """
    provider, _, model = name.partition("/")
    if not address or provider not in _CLIENTS:
        return name
    host = provider_behind(address, known)
    if host is None:
        return (
            name
            if provider.startswith("anthropic") and "claude" in model.lower()
            else f"{UNKNOWN}/{model}"
        )
    return name if host == provider else f"{host}/{model}"


def provider_behind(address: str, known: Mapping[str, str]) -> str | None:
    """Return the provider whose limits apply at an address; None if the server is unknown."""
    return _operator_provider(address, known) or provider_at(address)


def _operator_provider(address: str, known: Mapping[str, str]) -> str | None:
    """Return the provider of the longest configured address that is a prefix of this one."""
    path = without_scheme(address)
    prefixes = [start for start in known if f"{path}/".startswith(f"{start}/")]
    return known[max(prefixes, key=len)] if prefixes else None


def without_scheme(address: str) -> str:
    """Return an address without its scheme and trailing slashes."""
    return address.partition("://")[2].rstrip("/") or address.rstrip("/")


@lru_cache(maxsize=256)
def provider_at(address: str) -> str | None:
    """Return the provider whose table lists the host of an address; None if no table does."""
    host = without_scheme(address).partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    for table in host_tables():
        if any(fnmatchcase(host, pattern) for pattern in table.get("addresses", ())):
            return str(table["host"])
    return None
