"""Session memories and lessons that the replicas of a proxy share through a cache of LiteLLM.

Disabled by default. An entry is authenticated with an HMAC and has a lifetime. It holds digests,
and the messages that chatmend sent in place of the client's.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any, Literal

from chatmend.litellm.shared_images import LiteLLMStore
from chatmend.shared_state import SessionMemories

if TYPE_CHECKING:
    from collections.abc import Callable

LIFETIME = 7 * 24 * 3600
"""Default lifetime of an entry after its last change, in seconds."""
_MAC = 32
_SHORTEST_SECRET = 16


class LiteLLMState:
    """A ``chatmend.shared_state.SharedState`` in a cache of LiteLLM.

    Args:
        secret: authenticates entries; at least 16 bytes.
        cache: see ``LiteLLMStore``. Of a ``DualCache`` only its Redis is used, if it has one: what
            it holds in the process would not show what other replicas have stored.
        lifetime: lifetime of an entry after its last change, in seconds.

    Raises:
        ValueError: the secret is too short.
    """

    def __init__(self, secret: bytes, cache: Any = None, lifetime: float = LIFETIME) -> None:
        """Check the secret. The cache is not accessed yet."""
        if len(secret) < _SHORTEST_SECRET:
            text = f"shared memories need a secret of at least {_SHORTEST_SECRET} bytes"
            raise ValueError(text)
        self._secret = secret
        self._store = LiteLLMStore(getattr(cache, "redis_cache", None) or cache, lifetime)

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if there is none, or if it is not authentic."""
        value = self._store.get(key)
        if value is None or len(value) < _MAC:
            return None
        is_authentic = hmac.compare_digest(value[:_MAC], self._mac(key, value[_MAC:]))
        return value[_MAC:] if is_authentic else None

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the value of a key. Of two replicas that do so at once, the later one wins."""
        value = change(self.get(key))
        self._store.put(key, self._mac(key, value) + value)

    def _mac(self, key: str, value: bytes) -> bytes:
        return hmac.digest(self._secret, f"{key}:".encode() + value, "sha256")


def SharedMemories(  # noqa: N802 - used like SharedImages
    secret: bytes,
    *,
    cache: Any = None,
    lifetime: float = LIFETIME,
    mode: Literal["bound", "all"] = "bound",
) -> SessionMemories:
    """Return a value for ``ChatMend(session_memory=...)``: replicas share memories and lessons.

    Args:
        secret: authenticates entries; at least 16 bytes, the same in every replica, and not stored
            in the cache.
        cache: a ``DualCache``, ``RedisCache`` or ``InMemoryCache`` of LiteLLM; by default the one
            that LiteLLM uses when a request is processed.
        lifetime: lifetime of an entry after its last change, in seconds.
        mode: ``"bound"`` or ``"all"``, as ``session_memory`` without a store.

    Raises:
        ValueError: the secret is too short.
    """
    return SessionMemories(LiteLLMState(secret, cache, lifetime), mode)
