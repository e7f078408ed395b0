"""A cache of results outside the process, in any store with ``get`` and ``put``. Off by default.

An entry is used only if its HMAC is valid and its image passes an inspection, so somebody who can
write to the store but does not know the secret cannot insert anything into a request.
"""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from chatmend.images.cache import Outcome
from chatmend.images.probe import probe_image
from chatmend.images.tiles import Tiling

if TYPE_CHECKING:
    from chatmend.images.plan import Plan

_MAC = 32
_LARGEST = 64 << 20


class Backend(Protocol):
    """A store of bytes by key. An exception that it raises counts as a miss."""

    def get(self, key: str) -> bytes | None:
        """Return the value that was stored last under the key, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Store a value."""


class SharedCache:
    """Stores the results of one tenant in a backend.

    Args:
        backend: the store.
        tenant: who owns the results; tenants cannot read each other's results.
        secret: authenticates the entries; at least 16 bytes. Keep it outside of the store.

    Raises:
        ValueError: the secret is too short, or the tenant is empty.
    """

    def __init__(self, backend: Backend, *, tenant: str, secret: bytes) -> None:
        """Create a cache of one tenant in a store."""
        if len(secret) < 16 or not tenant:  # noqa: PLR2004 - bytes
            raise ValueError("a shared cache needs a tenant, and a secret of at least 16 bytes")
        self._backend = backend
        self._prefix = hashlib.sha256(tenant.encode()).hexdigest()[:16]
        self._secret = secret

    def get(self, key: str, plan: Plan | Tiling) -> Outcome | None:
        """Return a result that is authentic and fits the plan, or None."""
        if not isinstance(plan, Tiling):
            return self._get_image(key, plan)
        tiles: list[Outcome] = []
        for number in range(len(plan.boxes)):
            if (tile := self._get_image(f"{key}:{number}", plan.plan)) is None:
                return None
            tiles.append(tile)
        return Outcome(tiles=tuple(tiles))

    def _get_image(self, key: str, plan: Plan) -> Outcome | None:
        try:
            value = self._backend.get(f"{self._prefix}:{key}")
        except Exception:  # noqa: BLE001 - a failing store must not make the request fail
            return None
        if not isinstance(value, bytes) or not _MAC < len(value) < _LARGEST:
            return None
        body = value[_MAC:]
        if not hmac.compare_digest(value[:_MAC], self._mac(key, body)):
            return None
        text = body.decode("ascii", "replace")
        found = probe_image(text)
        fits = (
            found.fault is None
            and found.type in plan.types
            and found.display_size == plan.size
            and found.orientation == 1
        )
        if not fits or (plan.max_bytes and found.size > plan.max_bytes):
            return None
        return Outcome(text, found.type, found.display_size)

    def put(self, key: str, outcome: Outcome) -> None:
        """Store a result; failures are not shared."""
        for number, tile in enumerate(outcome.tiles):
            self.put(f"{key}:{number}", tile)
        if outcome.text is None:
            return
        body = outcome.text.encode("ascii")
        with suppress(Exception):  # a failing store must not make the request fail
            self._backend.put(f"{self._prefix}:{key}", self._mac(key, body) + body)

    def _mac(self, key: str, body: bytes) -> bytes:
        return hmac.digest(self._secret, f"{self._prefix}:{key}:".encode() + body, "sha256")
