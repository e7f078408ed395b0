"""Recompressed images shared by replicas through LiteLLM's cache: by tenant, authenticated, for a time."""

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


def asked() -> list[Any]:
    part = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{_photo()}"}}
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}]


def sent(callback: ChatMend, **more: Any) -> Any:
    kwargs = {"model": CLAUDE, "messages": asked(), **more}
    new = asyncio.run(callback.async_pre_call_deployment_hook(kwargs, "acompletion"))
    return (new or kwargs)["messages"]


def replica(cache: Any, secret: bytes = SECRET, **more: Any) -> ChatMend:
    return ChatMend(on_error="raise", images=SharedImages(secret, cache=cache, **more))


def team(name: str) -> dict[str, Any]:
    return {"metadata": {"user_api_key_team_id": name, "user_api_key_hash": "k"}}


def entries(cache: DualCache) -> dict[str, str]:
    return {key: value for key, value in cache.in_memory_cache.cache_dict.items() if key.startswith("chatmend:")}


@pytest.fixture
def cache() -> DualCache:
    return DualCache(in_memory_cache=InMemoryCache(max_size_per_item=1 << 20))


@pytest.fixture
def nobody_decodes(monkeypatch: pytest.MonkeyPatch) -> Any:
    def switch() -> None:
        def refuse(*_: Any) -> Any:
            raise AssertionError("decoded again")

        monkeypatch.setattr(engine, "transcode", refuse)

    return switch


def test_by_default_nothing_is_written_to_litellms_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "cache", Cache())
    assert sent(ChatMend(on_error="raise")) != asked()
    assert litellm.cache is not None
    assert litellm.cache.cache.cache_dict == {}


def test_a_second_replica_is_given_what_the_first_has_made(cache: DualCache, nobody_decodes: Any) -> None:
    first = sent(replica(cache), **team("a"))
    assert first != asked()
    assert len(entries(cache)) == 1
    nobody_decodes()
    assert sent(replica(cache), **team("a")) == first


def test_the_cache_that_litellm_is_configured_with_is_found(
    monkeypatch: pytest.MonkeyPatch, nobody_decodes: Any
) -> None:
    monkeypatch.setattr(litellm, "cache", Cache())
    first = sent(replica(None))
    nobody_decodes()
    assert sent(replica(None)) == first


def test_without_a_configured_cache_each_replica_works_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "cache", None)
    assert sent(replica(None)) == sent(ChatMend(on_error="raise"))


def test_no_tenant_is_given_anothers_result(cache: DualCache) -> None:
    callback = replica(cache)
    said = (team("a"), team("b"), {"metadata": {"user_api_key_hash": "a"}}, {"litellm_metadata": {}})
    for count, metadata in enumerate(said, 1):
        sent(callback, **metadata)
        assert len(entries(cache)) == count


def test_a_client_cannot_take_another_tenants_name(cache: DualCache) -> None:
    callback = replica(cache)
    sent(callback, **team("victim"))
    claimed = {"metadata": {"user_api_key_team_id": "victim"}, "litellm_metadata": {"user_api_key_team_id": "mine"}}
    sent(callback, **claimed)
    assert len(entries(cache)) == 2


def test_a_request_that_passes_through_belongs_to_its_key(cache: DualCache) -> None:
    callback = replica(cache)
    for name in ("a", "b"):
        key = SimpleNamespace(request_route="/openai/v1/chat/completions", team_id=name, api_key="k")
        data = {"model": "gpt-4o", "messages": asked(), **team("victim")}
        asyncio.run(callback.async_pre_call_hook(key, cache, data, "pass_through_endpoint"))
    assert len(entries(cache)) == 2


def test_what_somebody_else_has_written_there_is_not_used(cache: DualCache) -> None:
    first = sent(replica(cache))
    ((key, value),) = entries(cache).items()
    held = json.loads(value)["chatmend"]
    other = "A" if held[-100] != "A" else "B"
    forged = (
        json.dumps({"chatmend": held[:-100] + other + held[-99:]}),
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


def test_an_entry_lives_for_its_lifetime(cache: DualCache) -> None:
    store, before = LiteLLMStore(cache, lifetime=60), time.time()
    store.put("k", b"v")
    assert store.get("k") == b"v"
    assert before + 60 <= cache.in_memory_cache.ttl_dict["chatmend:k"] <= time.time() + 60
    cache.in_memory_cache.ttl_dict["chatmend:k"] -= 60
    assert store.get("k") is None


def test_redis_gives_back_what_the_json_says(cache: DualCache) -> None:
    cache.set_cache("chatmend:k", {"chatmend": "v"})
    assert LiteLLMStore(cache).get("k") == b"v"


def test_a_store_that_fails_costs_nothing_but_the_sharing() -> None:
    class Broken(DualCache):
        def get_cache(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

        def set_cache(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

    assert sent(replica(Broken())) == sent(ChatMend(on_error="raise"))


def test_the_option_takes_its_secret_from_the_environment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_SECRET", SECRET.decode())
    monkeypatch.setenv("CHATMEND_SHARED_IMAGES", "3600")
    assert isinstance(from_environment().images, SharedImages)
    assert isinstance(from_section({"shared_images": True}).images, SharedImages)
    assert from_section({"shared_images": False}).images is None
    monkeypatch.delenv("CHATMEND_SECRET")
    with pytest.raises(PolicyError, match="CHATMEND_SECRET"):
        from_section({"shared_images": True})


@pytest.mark.parametrize("value", ["often", -1, 0.0, [1]])
def test_a_lifetime_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(PolicyError, match="a lifetime in seconds"):
        from_section({"shared_images": value})
