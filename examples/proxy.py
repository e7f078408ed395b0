"""A LiteLLM proxy in another process; it uses chatmend and sends its requests to the sandbox."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

    from chatmend.sandbox import Sandbox

START_TIMEOUT = 240
"""Seconds to wait for the proxy; on a busy machine its imports take half a minute."""

CONFIGURATION = """\
model_list:
  - model_name: claude
    litellm_params: {{model: anthropic/claude-sonnet-4-5, api_key: any, api_base: "{anthropic}"}}
  - model_name: claude-unrepaired
    litellm_params: {{model: anthropic/claude-sonnet-4-5, api_key: any, api_base: "{anthropic}"}}
  - model_name: gemini
    litellm_params: {{model: gemini/gemini-2.5-flash, api_key: any, api_base: "{gemini}"}}
router_settings:
  fallbacks: [{{claude: [gemini]}}]
  num_retries: 0
litellm_settings:
  callbacks: chatmend.litellm.callback   # enables chatmend
chatmend:
  deny: [claude-unrepaired]              # not repaired, for comparison
general_settings:
  master_key: {key}
"""
_START = "from litellm.proxy.proxy_cli import run_server; run_server()"
_OFFLINE = (
    "MODEL_COST_MAP",
    "ANTHROPIC_BETA_HEADERS",
    "BLOG_POSTS",
    "POLICY_TEMPLATES",
    "AUTOROUTER_PRESETS",
)


class Proxy:
    """A context manager that runs the proxy; its files are in ``folder``."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        """Write the configuration and select a free port."""
        self._key = f"sk-{secrets.token_hex(16)}"
        self._log = folder / "proxy.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = int(free.getsockname()[1])
        self.configuration = CONFIGURATION.format(
            anthropic=sandbox.url("anthropic"), gemini=sandbox.url("gemini/v1beta"), key=self._key
        )
        (folder / "config.yaml").write_text(self.configuration, encoding="utf-8")

    def __enter__(self) -> Self:
        """Start the proxy in a new session: Ctrl-C interrupts only this process, which stops it."""
        arguments = [
            "--config",
            "config.yaml",
            "--host",
            "127.0.0.1",
            "--port",
            str(self._port),
            "--telemetry",
            "False",
        ]
        offline = {f"LITELLM_LOCAL_{name}": "True" for name in _OFFLINE}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, *arguments],
                env={
                    **os.environ,
                    **offline,
                    "NO_PROXY": "127.0.0.1",
                    "LITELLM_MODE": "PRODUCTION",
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._log.parent,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the proxy."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait until the proxy answers.

        Raises:
            RuntimeError: it exited or does not answer; the message has the end of its log.
        """
        end = time.monotonic() + START_TIMEOUT
        while self._process.poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(  # noqa: S310 - local
                    self._url("/health/liveliness"), timeout=5
                ):
                    return
            except OSError:
                time.sleep(0.3)
        raise RuntimeError(
            "the LiteLLM proxy does not answer; its log ends with: "
            f"{self._log.read_text(errors='replace')[-2000:]}"
        )

    def ask(
        self,
        model: str,
        messages: list[Any],
        **options: Any,  # noqa: ANN401 - JSON
    ) -> tuple[int, Any, str]:
        """Request a chat completion; return status, body and the header ``x-chatmend-changes``."""
        body = json.dumps({"model": model, "messages": messages, **options}).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - local
            self._url("/v1/chat/completions"), body, headers
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
                return (
                    answer.status,
                    json.load(answer),
                    answer.headers.get("x-chatmend-changes") or "",
                )
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused), ""

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"
