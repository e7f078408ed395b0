"""A real LiteLLM proxy in a process of its own, with chatmend in its configuration, in front of the sandbox."""

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

PATIENCE = 240
"""Seconds to wait for the proxy: it imports for half a minute where the machine is busy."""

CONFIGURATION = """\
model_list:
  - model_name: claude
    litellm_params: {{model: anthropic/claude-sonnet-4-5, api_key: any, api_base: "{anthropic}"}}
  - model_name: claude-as-before
    litellm_params: {{model: anthropic/claude-sonnet-4-5, api_key: any, api_base: "{anthropic}"}}
  - model_name: gemini
    litellm_params: {{model: gemini/gemini-2.5-flash, api_key: any, api_base: "{gemini}"}}
router_settings:
  fallbacks: [{{claude: [gemini]}}]
  num_retries: 0
litellm_settings:
  callbacks: chatmend.litellm.callback   # this line is all it takes
chatmend:
  deny: [claude-as-before]               # a model that is left alone, for comparison
general_settings:
  master_key: {key}
"""
_START = "from litellm.proxy.proxy_cli import run_server; run_server()"
_OFFLINE = ("MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "BLOG_POSTS", "POLICY_TEMPLATES", "AUTOROUTER_PRESETS")


class Proxy:
    """Runs while the block runs; what it writes goes to ``folder``."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        """Write the configuration, and take a free port."""
        self._key = f"sk-{secrets.token_hex(16)}"
        self._log = folder / "proxy.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = int(free.getsockname()[1])
        self.configuration = CONFIGURATION.format(
            anthropic=sandbox.url("anthropic"), gemini=sandbox.url("gemini/v1beta"), key=self._key
        )
        (folder / "config.yaml").write_text(self.configuration, encoding="utf-8")

    def __enter__(self) -> Self:
        """Start it in a session of its own: Ctrl-C reaches us alone, and we stop it."""
        place = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(self._port), "--telemetry", "False"]
        offline = {f"LITELLM_LOCAL_{name}": "True" for name in _OFFLINE}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, *place],
                env={**os.environ, **offline, "NO_PROXY": "127.0.0.1", "LITELLM_MODE": "PRODUCTION"},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._log.parent,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it, whatever happened."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Until it answers.

        Raises:
            RuntimeError: it ended, or does not answer; with the end of its log.
        """
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(self._url("/health/liveliness"), timeout=5):  # noqa: S310 - this machine
                    return
            except OSError:
                time.sleep(0.3)
        raise RuntimeError(f"the proxy does not answer: {self._log.read_text(errors='replace')[-2000:]}")

    def ask(self, model: str, messages: list[Any], **options: Any) -> tuple[int, Any, str]:  # noqa: ANN401 - JSON
        """One chat completion: status, body, and what the header says that chatmend changed."""
        body = json.dumps({"model": model, "messages": messages, **options}).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url("/v1/chat/completions"), body, headers)  # noqa: S310 - this machine
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
                return answer.status, json.load(answer), answer.headers.get("x-chatmend-changes") or ""
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused), ""

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"
