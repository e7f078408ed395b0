"""Recompressed images that replicas share through LiteLLM's cache.

Entries are separated by tenant, authenticated, and expire.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import time
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import litellm
import pytest
from litellm.caching.caching import Cache
from litellm.caching.dual_cache import DualCache
from litellm.caching.in_memory_cache import InMemoryCache
from PIL import Image

import chatmend.images.recompressor as engine
from chatmend import PolicyError
from chatmend.litellm import ChatMend, SharedImages
from chatmend.litellm.settings import from_environment, from_section
from chatmend.litellm.shared_images import LiteLLMStore

CLAUDE = "anthropic/claude-sonnet-4-5"
SECRET = b"0123456789abcdef"


@lru_cache(maxsize=1)
def _photo() -> str:
    out = io.BytesIO()
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.effect_noise((3000, 2000), 6).save(out, "JPEG", quality=95, exif=turned)
    return base64.b64encode(out.getvalue()).decode()


def image_question() -> list[Any]:
    part = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{_photo()}"}}
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}]


def sent(callback: ChatMend, **more: Any) -> Any:
    kwargs = {"model": CLAUDE, "messages": image_question(), **more}
    new = asyncio.run(callback.async_pre_call_deployment_hook(kwargs, "acompletion"))
    return (new or kwargs)["messages"]


def replica(cache: Any, secret: bytes = SECRET, **more: Any) -> ChatMend:
    return ChatMend(on_error="raise", images=SharedImages(secret, cache=cache, **more))


def team(name: str) -> dict[str, Any]:
    return {"metadata": {"user_api_key_team_id": name, "user_api_key_hash": "k"}}


def entries(cache: DualCache) -> dict[str, str]:
    return {
        key: value
        for key, value in cache.in_memory_cache.cache_dict.items()
        if key.startswith("chatmend:")
    }


@pytest.fixture
def cache() -> DualCache:
    return DualCache(in_memory_cache=InMemoryCache(max_size_per_item=1 << 20))


@pytest.fixture
def forbid_decoding(monkeypatch: pytest.MonkeyPatch) -> Any:
    def switch() -> None:
        def refuse(*_: Any) -> Any:
            raise AssertionError("decoded again")

        monkeypatch.setattr(engine, "transcode", refuse)

    return switch


def test_by_default_nothing_is_written_to_the_cache_of_litellm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(litellm, "cache", Cache())
    assert sent(ChatMend(on_error="raise")) != image_question()
    assert litellm.cache is not None
    assert litellm.cache.cache.cache_dict == {}


def test_a_second_replica_uses_the_images_of_the_first(
    cache: DualCache, forbid_decoding: Any
) -> None:
    first = sent(replica(cache), **team("a"))
    assert first != image_question()
    assert len(entries(cache)) == 1
    forbid_decoding()
    assert sent(replica(cache), **team("a")) == first


def test_the_cache_that_litellm_is_configured_with_is_used(
    monkeypatch: pytest.MonkeyPatch, forbid_decoding: Any
) -> None:
    monkeypatch.setattr(litellm, "cache", Cache())
    first = sent(replica(None))
    forbid_decoding()
    assert sent(replica(None)) == first


def test_without_a_configured_cache_nothing_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(litellm, "cache", None)
    assert sent(replica(None)) == sent(ChatMend(on_error="raise"))


def test_tenants_do_not_share_images(cache: DualCache) -> None:
    callback = replica(cache)
    tenants = (
        team("a"),
        team("b"),
        {"metadata": {"user_api_key_hash": "a"}},
        {"litellm_metadata": {}},
    )
    for count, metadata in enumerate(tenants, 1):
        sent(callback, **metadata)
        assert len(entries(cache)) == count


def test_a_client_cannot_claim_another_tenant(cache: DualCache) -> None:
    callback = replica(cache)
    sent(callback, **team("victim"))
    claimed = {
        "metadata": {"user_api_key_team_id": "victim"},
        "litellm_metadata": {"user_api_key_team_id": "mine"},
    }
    sent(callback, **claimed)
    assert len(entries(cache)) == 2


def test_a_pass_through_request_belongs_to_the_tenant_of_its_key(cache: DualCache) -> None:
    callback = replica(cache)
    for name in ("a", "b"):
        key = SimpleNamespace(
            request_route="/openai/v1/chat/completions", team_id=name, api_key="k"
        )
        data = {"model": "gpt-4o", "messages": image_question(), **team("victim")}
        asyncio.run(callback.async_pre_call_hook(key, cache, data, "pass_through_endpoint"))
    assert len(entries(cache)) == 2


def test_forged_cache_entries_are_not_used(cache: DualCache) -> None:
    first = sent(replica(cache))
    ((key, value),) = entries(cache).items()
    encoded = json.loads(value)["chatmend"]
    other = "A" if encoded[-100] != "A" else "B"
    forged = (
        json.dumps({"chatmend": encoded[:-100] + other + encoded[-99:]}),
        '{"chatmend": "\u20ac"}',
        "no JSON",
        7,
        "[]",
        '{"chatmend": 1}',
    )
    for entry in forged:
        cache.set_cache(key, entry)
        assert sent(replica(cache)) == first
    sent(replica(cache, secret=b"another secret of ours"))
    assert sent(replica(cache)) == first


def test_an_entry_expires_after_its_lifetime(cache: DualCache) -> None:
    store, before = LiteLLMStore(cache, lifetime=60), time.time()
    store.put("k", b"v")
    assert store.get("k") == b"v"
    assert before + 60 <= cache.in_memory_cache.ttl_dict["chatmend:k"] <= time.time() + 60
    cache.in_memory_cache.ttl_dict["chatmend:k"] -= 60
    assert store.get("k") is None


def test_entries_that_redis_returns_as_objects_are_read(cache: DualCache) -> None:
    cache.set_cache("chatmend:k", {"chatmend": "v"})
    assert LiteLLMStore(cache).get("k") == b"v"


def test_a_failing_cache_only_disables_sharing() -> None:
    class Broken(DualCache):
        def get_cache(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

        def set_cache(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

    assert sent(replica(Broken())) == sent(ChatMend(on_error="raise"))


def test_the_secret_is_read_from_the_environment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHATMEND_SECRET", SECRET.decode())
    monkeypatch.setenv("CHATMEND_SHARED_IMAGES", "3600")
    assert isinstance(from_environment().images, SharedImages)
    assert isinstance(from_section({"shared_images": True}).images, SharedImages)
    assert from_section({"shared_images": False}).images is None
    monkeypatch.delenv("CHATMEND_SECRET")
    with pytest.raises(PolicyError, match="CHATMEND_SECRET"):
        from_section({"shared_images": True})


@pytest.mark.parametrize("value", ["often", -1, 0.0, [1]])
def test_an_invalid_lifetime_raises_an_error(value: Any) -> None:
    with pytest.raises(PolicyError, match="a lifetime in seconds"):
        from_section({"shared_images": value})
