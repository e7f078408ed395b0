"""Recompressed images that the replicas of a proxy share through a cache of LiteLLM.

Disabled by default. An entry belongs to a tenant (the authenticated team or key), is authenticated
with an HMAC and has a lifetime: see ``chatmend.images.SharedCache``.
"""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

import litellm
from litellm.caching.dual_cache import DualCache
from litellm.caching.in_memory_cache import InMemoryCache
from litellm.caching.redis_cache import RedisCache

from chatmend.images import Budget, Recompressor, ResultCache, SharedCache
from chatmend.images.budget import MEMORY, memory_of
from chatmend.litellm.proxy_metadata import team_and_key

if TYPE_CHECKING:
    from collections.abc import Mapping

LIFETIME = 24 * 3600
"""Default lifetime of an entry, in seconds."""
TENANTS = 32
"""Number of tenants, most recently used, whose results are also kept in memory."""
_MEMORY = 8 << 20
_STORES = (DualCache, RedisCache, InMemoryCache)
_KEY = "chatmend"


class LiteLLMStore:
    """A ``chatmend.images.Backend`` that stores its entries in a cache of LiteLLM.

    Args:
        cache: a ``DualCache``, ``RedisCache`` or ``InMemoryCache``. The default is the cache that
            LiteLLM uses when a request is processed.
        lifetime: lifetime of an entry, in seconds.
    """

    def __init__(self, cache: Any = None, lifetime: float = LIFETIME) -> None:
        """Keep the arguments. The cache is not accessed yet."""
        self._cache = cache
        self._lifetime = lifetime

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; ``None`` if there is none, or if no cache is configured."""
        cache = self._cache or configured_cache()
        found = cache.get_cache(f"{_KEY}:{key}") if cache is not None else None
        # Redis returns the decoded JSON value, the cache in memory returns the JSON text.
        held = json.loads(found) if isinstance(found, str) else found
        text = held.get(_KEY) if isinstance(held, dict) else None
        return text.encode("latin-1") if isinstance(text, str) else None

    def put(self, key: str, value: bytes) -> None:
        """Store a value for the lifetime of an entry."""
        cache = self._cache or configured_cache()
        if cache is not None:
            text = json.dumps({_KEY: value.decode("latin-1")})
            cache.set_cache(f"{_KEY}:{key}", text, ttl=self._lifetime)


def configured_cache() -> Any:
    """Return the cache of LiteLLM's responses, or else the proxy's Redis for rate limits.

    ``None`` if neither is configured.
    """
    response_cache = getattr(litellm.cache, "cache", None)
    usage_cache = getattr(sys.modules.get("litellm.proxy.proxy_server"), "redis_usage_cache", None)
    return next(
        (cache for cache in (response_cache, usage_cache) if isinstance(cache, _STORES)), None
    )


class SharedImages:
    """A value for ``ChatMend(images=...)``: replicas share results, separately for each tenant.

    Args:
        secret: authenticates entries; at least 16 bytes, the same in every replica, and not stored
            in the cache.
        cache: see ``LiteLLMStore``.
        lifetime: lifetime of an entry, in seconds.
        memory: see ``chatmend.images.Recompressor``; the limit for all tenants together.

    Raises:
        ValueError: the secret is too short.
        PolicyError: ``memory`` is not a size.
    """

    def __init__(
        self,
        secret: bytes,
        *,
        cache: Any = None,
        lifetime: float = LIFETIME,
        memory: int | str = MEMORY,
    ) -> None:
        """Check the secret. The cache is not accessed yet."""
        self._secret = secret
        self._store = LiteLLMStore(cache, lifetime)
        self.memory = memory_of(memory)
        self._budget = Budget(memory=self.memory)
        self._known: OrderedDict[str, Recompressor] = OrderedDict()
        self._lock = Lock()
        self.for_owner("")

    def for_owner(self, owner: str) -> Recompressor:
        """Return the recompressor of a tenant; other tenants cannot read its results."""
        with self._lock:
            known = self._known.get(owner)
            if known is None:
                shared = SharedCache(self._store, tenant=f"tenant {owner}", secret=self._secret)
                known = Recompressor(cache=ResultCache(_MEMORY), shared=shared, budget=self._budget)
                self._known[owner] = known
            self._known.move_to_end(owner)
            while len(self._known) > TENANTS:
                self._known.popitem(last=False)
            return known


def owner_of(call: Mapping[str, Any], key: Any = None) -> str:
    """Return the team, or else the key, that the proxy authenticated; empty in the SDK.

    Args:
        call: the arguments of the call.
        key: the proxy's ``user_api_key_dict`` of a pass-through request.
    """
    if key is not None:
        team, hashed = getattr(key, "team_id", None), getattr(key, "api_key", None)
    else:
        team, hashed = team_and_key(call)
    return f"team {team}" if team else f"key {hashed}" if hashed else ""
