"""Sends a broken conversation as an agent would, without and through ``chatmend proxy``.

Install ``pip install 'chatmend[proxy]'``. It needs no API key and no internet: the provider is
chatmend's sandbox.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from chatmend.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterable

USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
BODY = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 99,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "What is the weather in Paris?"},
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": "Never mind. And in Rome?"},  # the call has no result
    ],
}
HEADERS = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    "x-api-key": "the key of the agent",
}


def ask(base_url: str) -> str:
    """Send the conversation as the SDK of Anthropic does, which reads ANTHROPIC_BASE_URL."""
    data = json.dumps(BODY).encode()
    request = urllib.request.Request(f"{base_url}/v1/messages", data, HEADERS)  # noqa: S310 - local
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return f"accepted, x-chatmend-changes: {answer.headers['x-chatmend-changes']}"
    except urllib.error.HTTPError as refused:
        with refused:
            return f"refused: {json.load(refused)['error']['message']}"


def start(upstream: str) -> subprocess.Popen[str]:
    """Start the proxy on a free port; its output is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-m", "chatmend", "proxy", "--port", "0", "--upstream", upstream],
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait(lines: Iterable[str]) -> str:
    """Return the address that agents use, after the proxy has started.

    Raises:
        RuntimeError: the proxy exits; the message is what it has printed.
    """
    printed = ""
    for line in lines:
        printed += line
        if "Uvicorn running" in line:
            return re.findall(r"export ANTHROPIC_BASE_URL=(\S+)", printed)[0]
    raise RuntimeError(printed)


def main() -> None:
    """Print one line for each way."""
    with Sandbox() as sandbox:
        print("without chatmend:", ask(sandbox.url("anthropic")))
        proxy = start(f"anthropic={sandbox.url('anthropic')}")
        try:
            print("chatmend proxy:", ask(wait(proxy.stdout or ())))
        finally:
            proxy.terminate()
            proxy.communicate()


if __name__ == "__main__":
    main()
