"""Two replicas and a real Redis: one of them is killed, and the other one goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.litellm_adapter.proxy import ROOT
from tests.litellm_adapter.test_shared_images import _photo
from tests.offline import OFFLINE
from tests.scale import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("redis", reason="LiteLLM needs it to connect")
pytestmark = pytest.mark.showpiece


class Process:
    """A replica in another process."""

    def __init__(self, redis_port: int, url: str) -> None:
        command = [sys.executable, "-m", "tests.litellm_adapter.replica", str(redis_port), url]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **OFFLINE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, text: str, user: str) -> None:
        """Send a request without waiting for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"text": text, "image": _photo(), "user": user}))
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, text: str, user: str) -> dict[str, Any]:
        self.send(text, user)
        found: dict[str, Any] = json.loads(self.read())
        return found

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


@pytest.fixture
def replicas(sandbox: Any, redis_port: int) -> Iterator[tuple[Process, Process]]:
    found = tuple(Process(redis_port, sandbox.url("anthropic")) for _ in range(2))
    try:
        for one in found:
            assert one.read() == "ready"
        yield found[0], found[1]
    finally:
        for one in found:
            one.kill()


def test_a_replica_that_is_killed_leaves_its_images_and_no_wrong_usage(
    replicas: tuple[Process, Process], sandbox: Any
) -> None:
    first, second = replicas
    answer = first.ask("one", "ann")
    assert answer["decoded"] == 1
    assert answer["calls"] == {"ann": 1}
    first.send("two", "ann")
    first.kill()  # in the middle of a call
    sandbox.clear()
    for number in (1, 2):
        answer = second.ask(f"three {number}", "bea")
        assert answer["decoded"] == 0, "the image of the other replica is used"
        assert answer["calls"] == {"bea": number}
    mine = [request for request in sandbox.requests if "three" in str(request.body)]
    assert [request.status for request in mine] == [200, 200]
    assert answer["input"]["bea"] == sum(request.prompt for request in mine)
    images = {str(request.body["messages"][0]["content"][1]) for request in mine}
    assert len(images) == 1
    assert _photo() not in images.pop()


@nightly
def test_without_redis_images_are_recompressed_again(sandbox: Any, unused_port: int) -> None:
    alone = Process(unused_port, sandbox.url("anthropic"))
    try:
        assert alone.read() == "ready"
        answer = alone.ask("one", "ann")
        assert (answer["decoded"], answer["calls"]) == (1, {"ann": 1})
        assert [request.status for request in sandbox.requests] == [200]
    finally:
        alone.kill()
