"""Recompressed images shared by the replicas of a proxy, through the cache that LiteLLM itself is configured with.

Off unless it is asked for. An entry belongs to a tenant (the authenticated team or key), carries an HMAC, and has a
lifetime: see ``chatmend.images.SharedCache``.
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

if TYPE_CHECKING:
    from collections.abc import Mapping

LIFETIME = 24 * 3600
"""Seconds."""
TENANTS = 32
"""Tenants whose results are also kept in memory; the one that was asked for least lately is forgotten."""
_MEMORY = 8 << 20
_STORES = (DualCache, RedisCache, InMemoryCache)
_KEY = "chatmend"


class LiteLLMStore:
    """A ``chatmend.images.Backend`` over a cache of LiteLLM's.

    Args:
        cache: a ``DualCache``, ``RedisCache`` or ``InMemoryCache``; by default the one that LiteLLM is configured with
            when a request comes.
        lifetime: seconds that an entry is kept.
    """

    def __init__(self, cache: Any = None, lifetime: float = LIFETIME) -> None:
        """Nothing is asked of the cache yet."""
        self._cache = cache
        self._lifetime = lifetime

    def get(self, key: str) -> bytes | None:
        """The value under a key, or ``None``: also where no cache is configured."""
        cache = self._cache or configured()
        found = cache.get_cache(f"{_KEY}:{key}") if cache is not None else None
        # Redis gives back what the JSON says, the memory the JSON itself.
        held = json.loads(found) if isinstance(found, str) else found
        text = held.get(_KEY) if isinstance(held, dict) else None
        return text.encode("latin-1") if isinstance(text, str) else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value for its lifetime."""
        cache = self._cache or configured()
        if cache is not None:
            text = json.dumps({_KEY: value.decode("latin-1")})
            cache.set_cache(f"{_KEY}:{key}", text, ttl=self._lifetime)


def configured() -> Any:
    """The cache that LiteLLM answers from, or the Redis that the proxy counts in; ``None`` where there is neither."""
    answers = getattr(litellm.cache, "cache", None)
    counts = getattr(sys.modules.get("litellm.proxy.proxy_server"), "redis_usage_cache", None)
    return next((cache for cache in (answers, counts) if isinstance(cache, _STORES)), None)


class SharedImages:
    """What ``ChatMend(images=...)`` takes in order to share results: a recompressor for each tenant.

    Args:
        secret: authenticates entries; the same in every replica, at least 16 bytes, and not in the cache.
        cache: as for ``LiteLLMStore``.
        lifetime: seconds that an entry is kept.
        memory: as for ``chatmend.images.Recompressor``, for all tenants together.

    Raises:
        ValueError: the secret is too short.
        PolicyError: ``memory`` is no size.
    """

    def __init__(
        self, secret: bytes, *, cache: Any = None, lifetime: float = LIFETIME, memory: int | str = MEMORY
    ) -> None:
        """Check the secret; nothing is asked of the cache yet."""
        self._secret = secret
        self._store = LiteLLMStore(cache, lifetime)
        self.memory = memory_of(memory)
        self._budget = Budget(memory=self.memory)
        self._known: OrderedDict[str, Recompressor] = OrderedDict()
        self._lock = Lock()
        self.of("")

    def of(self, owner: str) -> Recompressor:
        """The recompressor of a tenant, whose results no other tenant is given."""
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
    """Who was authenticated, as the proxy says: the team, else the key; empty in the SDK.

    Args:
        call: the request; the proxy writes its own metadata over what a client sends there.
        key: the proxy's ``user_api_key_dict`` of a request that passes through.
    """
    if key is not None:
        team, hashed = getattr(key, "team_id", None), getattr(key, "api_key", None)
    else:
        told = (call.get("metadata"), call.get("litellm_metadata"))
        said = {name: value for one in told if isinstance(one, dict) for name, value in one.items()}
        team = said.get("user_api_key_team_id")
        hashed = said.get("user_api_key_hash") or said.get("user_api_key")
    return f"team {team}" if team else f"key {hashed}" if hashed else ""
