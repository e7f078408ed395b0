"""Fixtures: the sandbox, a LiteLLM proxy, and LiteLLM without the callbacks of other tests."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("litellm")

import litellm
from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
from litellm.litellm_core_utils.thread_pool_executor import executor

from chatmend.litellm import ChatMend, uninstall
from chatmend_pytest import sandbox, sandbox_server
from tests.litellm_adapter.proxy import Proxy
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

__all__ = ["sandbox", "sandbox_server"]


@pytest.fixture(autouse=True)
def untouched_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove what a test installed, after LiteLLM has finished logging the calls of the test.

    Otherwise the next test would count those calls.
    """
    logged: list[Future[Any]] = []
    submit = executor.submit

    def recording(*args: Any, **kwargs: Any) -> Future[Any]:
        logged.append(submit(*args, **kwargs))
        return logged[-1]

    monkeypatch.setattr(executor, "submit", recording)
    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    litellm.logging_callback_manager._reset_all_callbacks()
    yield
    wait(logged, timeout=60)
    uninstall()
    litellm.logging_callback_manager._reset_all_callbacks()
    asyncio.run(_finish_logging())


async def _finish_logging() -> None:
    """Run what the event loop of the test left in the queue of logs.

    LiteLLM carries it over to the next event loop, where it would reach the next test's callbacks.
    """
    GLOBAL_LOGGING_WORKER.start()
    await GLOBAL_LOGGING_WORKER.flush()
    await GLOBAL_LOGGING_WORKER.stop()


@pytest.fixture
def mend() -> ChatMend:
    """Return a registered callback that raises its internal errors."""
    callback = ChatMend(on_error="raise")
    litellm.callbacks = [callback]
    return callback


@pytest.fixture(scope="session")
def proxy(sandbox_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Run a real LiteLLM proxy in another process; its deployments send to the sandbox."""
    pytest.importorskip("fastapi", reason="the dependencies of the proxy are not installed")
    with Proxy(sandbox_server, tmp_path_factory.mktemp("proxy")) as found:
        yield found


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis that runs for the tests of this process."""
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("needs redis-server: apt-get install redis-server")
    redis = pytest.importorskip("redis")
    port = free_port()
    where = tmp_path_factory.mktemp("redis")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", where]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        client = redis.Redis(port=port, retry=redis.retry.Retry(_backoff(redis), 100))
        client.ping()
        client.close()
        yield port
        process.terminate()


def _backoff(redis: Any) -> Any:
    return redis.backoff.ConstantBackoff(0.05)


@pytest.fixture
def unused_port() -> int:
    """A port on which nothing answers."""
    return free_port()
