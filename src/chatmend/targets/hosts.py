"""Where a call really goes: a client that is named after one provider may be pointed at the address of another."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from chatmend.targets.resolve import UNKNOWN, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLIENTS = frozenset(
    {"openai", "custom_openai", "openai_like", "text-completion-openai", "anthropic", "anthropic_text"}
)
"""Providers whose clients are pointed at the servers of others."""


def addressed(name: str, address: str | None, known: Mapping[str, str]) -> str:
    """Name the target behind an address.

    Args:
        name: the target as the client names it, ``provider/model``.
        address: the base URL that the client was given; None or empty: the provider's own.
        known: the operator's own addresses, each with the provider whose rules hold behind it.

    Returns:
        ``name`` where the address is the provider's own, ``host/model`` where it is that of another provider that is
        known, and ``openai_compatible/model`` where nobody knows the server: there nothing is stripped or renamed.
        Claude behind Anthropic's client stays Claude wherever it is served.
    """
    provider, _, model = name.partition("/")
    if not address or provider not in _CLIENTS:
        return name
    host = _told(address, known) or provider_at(address)
    if host is None:
        return name if provider.startswith("anthropic") and "claude" in model.lower() else f"{UNKNOWN}/{model}"
    return name if host == provider else f"{host}/{model}"


def _told(address: str, known: Mapping[str, str]) -> str | None:
    """What the operator says: the longest of the addresses that this one begins with."""
    place = bare(address)
    fitting = [start for start in known if f"{place}/".startswith(f"{start}/")]
    return known[max(fitting, key=len)] if fitting else None


def bare(address: str) -> str:
    """An address without its scheme and the slash at its end."""
    return address.partition("://")[2].rstrip("/") or address.rstrip("/")


@lru_cache(maxsize=256)
def provider_at(address: str) -> str | None:
    """The provider whose server an address is; None where it is nobody's that a table knows."""
    host = bare(address).partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    for table in tables():
        if any(fnmatchcase(host, pattern) for pattern in table.get("hosts", ())):
            return str(table["provider"])
    return None
