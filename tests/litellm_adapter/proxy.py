"""A real LiteLLM proxy in another process."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import yaml

from tests.offline import OFFLINE
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
GUARDRAIL = "chatmend.litellm.guardrail.Guardrail"
TIMEOUT = 240
"""Seconds to wait for the proxy; on a busy machine its imports take half a minute."""

DEPLOYMENTS = {
    "oai": ("openai/gpt-4o", "openai/v1"),
    "ant": ("anthropic/claude-sonnet-4-5", "anthropic"),
    "gem": ("gemini/gemini-2.5-flash", "gemini/v1beta"),
    "mis": ("mistral/mistral-large-latest", "mistral/v1"),
    "nova": ("bedrock/us.amazon.nova-pro-v1:0", "bedrock"),
    "down": ("openai/gpt-4o", "nothing"),
    "guarded": ("openai/gpt-4o", "openai/v1"),
}
"""Model groups, each with its deployment and the path in the sandbox."""


_IMPORTS_CALLBACKS = (1, 95)
"""Before, a proxy looks for the modules of callbacks only next to its configuration."""


class Proxy:
    """A proxy on a free port with the callback of ``tests.litellm_adapter.proxy_callback``."""

    def __init__(
        self,
        sandbox: Any,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        run_by: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        """Write the configuration; ``settings`` adds or replaces sections.

        ``run_by`` is a program that runs the proxy, with its arguments.
        """
        self.folder = folder
        self._run_by = run_by
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self.key = f"sk-{secrets.token_hex(16)}"
        self.calls = folder / "calls.txt"
        self.log = folder / "log.txt"
        self.port = free_port()
        self._news = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._news.bind(("127.0.0.1", 0))
        self._client = httpx.Client(timeout=120)
        self._sandbox = sandbox
        self._config = folder / "config.yaml"
        config: dict[str, Any] = {
            "model_list": [
                {
                    "model_name": name,
                    "litellm_params": {
                        "model": model,
                        "api_key": "any",
                        "api_base": sandbox.url(path),
                    },
                }
                for name, (model, path) in DEPLOYMENTS.items()
            ],
            "router_settings": {
                "fallbacks": [{"down": ["ant"]}],
                "num_retries": 0,
                "disable_cooldowns": True,
            },
            "litellm_settings": {"callbacks": "tests.litellm_adapter.proxy_callback.callback"},
            "chatmend": {"deny": ["guarded"], "record": str(folder / "workspace"), "react": 1},
            "guardrails": [
                {
                    "guardrail_name": "mend",
                    "litellm_params": {
                        "guardrail": GUARDRAIL,
                        "mode": "pre_call",
                        "default_on": False,
                    },
                }
            ],
            "general_settings": {"master_key": self.key},
            **settings,
        }
        self._config.write_text(yaml.safe_dump(config), encoding="utf-8")
        if tuple(map(int, version("litellm").split(".")[:2])) < _IMPORTS_CALLBACKS:
            with suppress(FileExistsError):
                (folder / "tests").symlink_to(ROOT / "tests")

    def __enter__(self) -> Self:
        """Start the proxy if it is not running, and wait until it answers."""
        if self._process is None:
            self.start()
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self) -> Self:
        """Start the proxy and return at once, so that several can start at the same time.

        A ``with`` statement waits for the proxy and stops it.
        """
        bases = {
            "OPENAI_API_BASE": "openai",
            "ANTHROPIC_API_BASE": "anthropic",
            "GEMINI_API_BASE": "gemini",
            "AWS_BEDROCK_RUNTIME_ENDPOINT": "bedrock",
        }
        env = {
            **os.environ,
            **OFFLINE,
            **{name: self._sandbox.url(path) for name, path in bases.items()},
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "any"),
            **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "any"),
            "AWS_REGION_NAME": "us-east-1",
            "LITELLM_MODE": "PRODUCTION",
            "NO_PROXY": "127.0.0.1",
            "CHATMEND_TEST_CALLS": str(self.calls),
            "CHATMEND_TEST_NEWS": str(self._news.getsockname()[1]),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            **self._environment,
        }
        # Without garbage collection, LiteLLM is imported in three quarters of the time.
        start = (
            "import gc; gc.disable(); from litellm.proxy import proxy_server; gc.enable()\n"
            "from litellm.proxy.proxy_cli import run_server; run_server()"
        )
        address = ["--config", str(self._config), "--host", "127.0.0.1", "--port", str(self.port)]
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                [*self._run_by, sys.executable, "-c", start, *address, "--telemetry", "False"],
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        return self

    def _wait(self) -> None:
        end = time.monotonic() + TIMEOUT
        while self._process is not None and time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(
                    f"the proxy exited: {self.log.read_text(errors='replace')[-2000:]}"
                )
            try:
                if (
                    httpx.get(self.url("/health/liveliness"), timeout=5).status_code
                    == httpx.codes.OK
                ):
                    return
            except httpx.HTTPError:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=0.5)
        raise RuntimeError(
            f"the proxy did not answer in {TIMEOUT} s: "
            f"{self.log.read_text(errors='replace')[-2000:]}"
        )

    def __exit__(self, *_: object) -> None:
        """Stop the proxy."""
        self._client.close()
        self._news.close()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        """Send a request with the proxy's key."""
        # Gemini's clients send their key in another header.
        gemini_key = {"x-goog-api-key": self.key} if path.startswith("/gemini/") else {}
        auth = {"Authorization": f"Bearer {self.key}", **gemini_key, **headers}
        return self._client.post(self.url(path), json=body, headers=auth)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the ledger in the proxy."""
        path = self.folder / "rows.json"
        found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return found

    def wait_until(self, condition: Callable[[], bool]) -> bool:
        """Wait until a condition holds; evaluate it again after each call that the proxy logs."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            self._news.settimeout(max(0.01, end - time.monotonic()))
            try:
                self._news.recv(16)
            except TimeoutError:
                return condition()
        return True

    def cpu_seconds(self) -> float:
        """Return the CPU time that the threads of the proxy have used."""
        assert self._process is not None
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    @property
    def pid(self) -> int:
        """The process of the proxy, which must have been started."""
        assert self._process is not None
        return self._process.pid

    def pause(self) -> None:
        """Wait for news of a logged call, or for a twentieth of a second."""
        self._news.settimeout(0.05)
        with suppress(TimeoutError):
            self._news.recv(16)

    def take_hook_count(self) -> int:
        """Return how often repairing hooks have run since the last call, and reset the count."""
        if not self.calls.exists():
            return 0
        count = len(self.calls.read_text().splitlines())
        self.calls.unlink()
        return count

    def switch(self, *, on: bool, **options: Any) -> None:
        """Enable or disable chatmend in the running proxy and set options of the callback.

        Options that are not named are reset to their initial values.
        """
        new = self.folder / "switch.new"
        new.write_text(json.dumps({"on": on, "options": options}))
        new.rename(self.folder / "switch.json")
