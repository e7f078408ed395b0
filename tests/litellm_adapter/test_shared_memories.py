"""Replicas that share session memories and lessons, through a real Redis."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from litellm.caching.dual_cache import DualCache
from litellm.caching.in_memory_cache import InMemoryCache
from litellm.caching.redis_cache import RedisCache

from chatmend import PolicyError, SessionMemory
from chatmend.litellm import ChatMend, SharedMemories, install, uninstall
from chatmend.litellm.settings import from_section
from chatmend.litellm.shared_memories import LiteLLMState
from chatmend.memory_store import MemoryStore
from chatmend.shared_entries import SharedEntries
from chatmend.shared_state import SessionMemories
from chatmend.targets import resolve
from tests.litellm_adapter.test_react import CHAT, MODEL
from tests.litellm_adapter.test_session_memory import BOUND, FREE, SYSTEM, ask, thinking
from tests.test_session_memory import LATE, USER, repaired

if TYPE_CHECKING:
    from pathlib import Path

    from chatmend.sandbox import Sandbox

SECRET = b"0123456789abcdef"


@pytest.fixture
def cache(redis_port: int) -> RedisCache:
    """LiteLLM's Redis cache, empty."""
    found = RedisCache(host="127.0.0.1", port=redis_port)
    found.redis_client.flushall()
    return found


def replica(redis_port: int, **options: Any) -> ChatMend:
    """A callback as in another process, with its own connection."""
    shared = SharedMemories(SECRET, cache=RedisCache(host="127.0.0.1", port=redis_port))
    return ChatMend(on_error="raise", session_memory=shared, **options)


class Replicas:
    """Lets one replica after another be the installed callback."""

    def __init__(self, *callbacks: ChatMend) -> None:
        self.callbacks = callbacks

    def ask(self, number: int, sandbox: Sandbox, history: list[Any], model: str = BOUND) -> None:
        install(self.callbacks[number])
        try:
            ask(sandbox, history, model)
        finally:
            uninstall()


def test_a_replica_knows_what_another_one_has_sent(
    sandbox: Sandbox, cache: RedisCache, redis_port: int
) -> None:
    replicas = Replicas(replica(redis_port), replica(redis_port))
    history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
    replicas.ask(0, sandbox, history)
    history.append({"role": "user", "content": "n"})
    replicas.ask(1, sandbox, history)
    assert thinking(sandbox) == ["Plan 2."]
    history[0] = {**SYSTEM, "content": "Be verbose."}
    history.append({"role": "user", "content": "l"})
    replicas.ask(0, sandbox, history)
    assert thinking(sandbox) == []
    history.append({"role": "user", "content": "m"})
    replicas.ask(1, sandbox, history)
    assert [request.status for request in sandbox.requests] == [200] * 4
    assert thinking(sandbox) == ["Plan 6."]
    (key,) = cache.redis_client.keys()
    assert 0 < cache.redis_client.ttl(key) <= 7 * 24 * 3600


def test_a_replica_knows_what_another_one_has_learnt(
    sandbox: Sandbox, cache: RedisCache, redis_port: int
) -> None:
    """Only the provider can tell that the signature is another text's."""
    replicas = Replicas(replica(redis_port, react=1), replica(redis_port, react=1))
    history = list(CHAT)
    for number, expected in ((0, [400, 200]), (1, [400, 200, 200])):
        replicas.ask(number, sandbox, history, MODEL)
        assert [request.status for request in sandbox.requests] == expected
        history.append({"role": "user", "content": "l"})
    assert len(cache.redis_client.keys("*lessons*")) == 1


def test_two_replicas_at_the_same_time(cache: RedisCache) -> None:
    first, second = (MemoryStore(SharedMemories(SECRET, cache=cache)) for _ in range(2))
    base = second.of("team", [USER], resolve(BOUND))
    memories = [
        repaired([{**USER, "content": text}], SessionMemory()).memory for text in ("a", "b")
    ]
    first.keep("team", [USER], memories[0], base)
    second.keep("team", [USER], memories[1], base)
    known = first.of("team", [USER], resolve(BOUND))
    assert known is not None
    assert known.turns == (*memories[0].turns, *memories[1].turns)


def test_without_redis_the_memory_in_the_process_is_used(sandbox: Sandbox) -> None:
    pytest.importorskip("redis", reason="LiteLLM needs it to connect")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        replicas = Replicas(replica(port))
        history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
        replicas.ask(0, sandbox, history)
        history[0] = {**SYSTEM, "content": "Be verbose."}
        history.append({"role": "user", "content": "n"})
        replicas.ask(0, sandbox, history)
    assert [request.status for request in sandbox.requests] == [200, 200]
    assert thinking(sandbox) == []


def test_a_store_that_fails_is_reported_once(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def get(self, key: str) -> bytes | None:
            raise ConnectionError

        def update(self, key: str, change: Any) -> None:
            raise ConnectionError

    replicas = Replicas(ChatMend(on_error="raise", session_memory=SessionMemories(Broken())))
    history: list[Any] = [{"role": "user", "content": "q"}]
    replicas.ask(0, sandbox, history)
    history.append({"role": "user", "content": "n"})
    replicas.ask(0, sandbox, history)
    assert thinking(sandbox) == ["Plan 1."]
    lines = [record.message for record in caplog.records if record.name == "chatmend"]
    assert len(lines) == 1
    assert "ConnectionError" in lines[0]


def test_a_forged_entry_is_not_used() -> None:
    cache = InMemoryCache()
    state = LiteLLMState(SECRET, cache)
    state.update("memory:k", lambda held: b"one" if held is None else held + b", two")
    state.update("memory:k", lambda held: b"one" if held is None else held + b", two")
    assert state.get("memory:k") == b"one, two"
    assert LiteLLMState(b"another secret..", cache).get("memory:k") is None
    cache.set_cache("chatmend:memory:o", cache.get_cache("chatmend:memory:k"))
    assert state.get("memory:o") is None
    with pytest.raises(ValueError, match="at least 16 bytes"):
        SharedMemories(b"short")


def test_of_a_dual_cache_only_the_shared_part_is_used(cache: RedisCache) -> None:
    dual = DualCache(in_memory_cache=InMemoryCache(), redis_cache=cache)
    state = LiteLLMState(SECRET, dual)
    state.update("memory:k", lambda _: b"old")
    LiteLLMState(SECRET, cache).update("memory:k", lambda _: b"new")
    assert state.get("memory:k") == b"new"


def test_a_restart_does_not_begin_anew_if_sessions_are_recorded(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    history: list[Any] = [SYSTEM, {"role": "user", "content": "q"}]
    for content in ("Be brief.", "Be verbose."):
        history[0] = {**SYSTEM, "content": content}
        callback = from_section({"record": str(tmp_path), "on_error": "raise"})
        Replicas(callback).ask(0, sandbox, history)
        history.append({"role": "user", "content": "n"})
    assert [request.status for request in sandbox.requests] == [200, 200]
    assert thinking(sandbox) == []
    assert len(list((tmp_path / "memories").rglob("*.memory.json"))) == 1
    Replicas(from_section({"record": str(tmp_path)})).ask(0, sandbox, [SYSTEM, *history[1:2]], FREE)
    assert len(list((tmp_path / "memories").rglob("*.json"))) == 1, "other models need none"


def test_the_options_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATMEND_SECRET", SECRET.decode())
    callback = from_section({"shared_memory": True, "session_memory": "all"})
    assert callback.memories.mode == "all"
    assert isinstance(callback.memories.state, LiteLLMState)
    assert from_section({"shared_memory": False}).memories.state is None
    assert from_section({"shared_memory": 3600}).memories.mode == "bound"
    for section, fault in (
        ({"shared_memory": True, "session_memory": "off"}, "not off"),
        ({"shared_memory": "often"}, "a lifetime in seconds"),
        ({"shared_memory": True, "session_memory": "always"}, "session_memory='always'"),
    ):
        with pytest.raises(PolicyError, match=fault):
            from_section(section)
    monkeypatch.delenv("CHATMEND_SECRET")
    with pytest.raises(PolicyError, match="shared_memory: set the environment variable"):
        from_section({"shared_memory": True})


def test_what_a_replica_sent_in_place_of_messages_arrives_at_the_other(cache: RedisCache) -> None:
    first, second = (MemoryStore(SharedMemories(SECRET, cache=cache)) for _ in range(2))
    memory = repaired(LATE[:3], SessionMemory()).memory
    first.keep("team", LATE, memory, SessionMemory())
    assert second.of("team", LATE, resolve(BOUND)) == memory


def test_a_store_that_fails_is_not_asked_at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("chatmend.shared_entries.time.monotonic", lambda: now[0])
    asked: list[str] = []

    class Unreachable:
        def get(self, key: str) -> bytes | None:
            asked.append(key)
            now[0] += 5  # LiteLLM waits, and returns None
            return None

        def update(self, key: str, change: Any) -> None:
            raise AssertionError(key)

    entries = SharedEntries(Unreachable(), "memory")
    assert entries.get("a") is None
    entries.update("a", lambda data: data or b"")
    assert entries.get("a") is None
    assert asked == ["memory:a"]
    now[0] += 31
    entries.get("a")
    assert asked == ["memory:a", "memory:a"]
