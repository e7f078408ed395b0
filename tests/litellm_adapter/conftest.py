"""The sandbox, and LiteLLM without network and without callbacks of other tests."""

from __future__ import annotations

from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("litellm")

import litellm
from litellm.litellm_core_utils.thread_pool_executor import executor

from chatmend.litellm import ChatMend, uninstall
from chatmend.sandbox.pytest_plugin import sandbox, sandbox_server
from tests.litellm_adapter.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

__all__ = ["sandbox", "sandbox_server"]


@pytest.fixture(autouse=True)
def untouched_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test installs is gone afterwards, and so is what its calls still log, which the next one would count."""
    logged: list[Future[Any]] = []
    submit = executor.submit

    def noted(*task: Any, **named: Any) -> Future[Any]:
        logged.append(submit(*task, **named))
        return logged[-1]

    monkeypatch.setattr(executor, "submit", noted)
    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    litellm.logging_callback_manager._reset_all_callbacks()
    yield
    wait(logged, timeout=60)
    uninstall()
    litellm.logging_callback_manager._reset_all_callbacks()


@pytest.fixture
def mend() -> ChatMend:
    """A registered callback that lets its own failures out."""
    callback = ChatMend(on_error="raise")
    litellm.callbacks = [callback]
    return callback


@pytest.fixture(scope="session")
def proxy(sandbox_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A real LiteLLM proxy in a process of its own, whose deployments are the sandbox's."""
    pytest.importorskip("fastapi", reason="the proxy's own dependencies are not installed")
    with Proxy(sandbox_server, tmp_path_factory.mktemp("proxy")) as found:
        yield found
