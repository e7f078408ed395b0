"""Measures the CPU time that chatmend adds to clean requests through a LiteLLM proxy.

    python -m benchmarks.bench_proxy

A proxy with a callback that does nothing and others with chatmend get the same requests in turns.
The CPU time is that of the whole process of a proxy; each figure is the least of the rounds.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from tests.litellm_adapter.proxy import DEPLOYMENTS, Proxy

from bench_litellm import sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, WARM = 8, 20


def requests() -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """Yield label, path, body and the number of calls in a turn."""
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": f"Message number {number}."}
        for number in range(21)
    ]
    yield "chat", "/v1/chat/completions", {"model": "oai", "messages": messages}, 30
    body = {"model": "ant", "max_tokens": 64, "messages": messages}
    yield "messages", "/v1/messages", body, 30
    yield "responses", "/v1/responses", {"model": "oai", "input": messages}, 30
    stream = {"model": "long", "max_tokens": 9_000, "messages": messages, "stream": True}
    yield "messages, stream", "/v1/messages", stream, 6


def main() -> int:
    """Print the table."""
    with ExitStack() as stack:
        server, long = stack.enter_context(sandbox()), stack.enter_context(long_stream())
        proxies = [_proxy(stack, (server, long), usage) for usage in ("", "hidden", "body")]
        for proxy in proxies:
            proxy.start()
        for proxy in proxies:
            stack.enter_context(proxy)
        for label, path, body, times in requests():
            measured = proxies if "stream" in body else proxies[:2]
            events = [_send(proxy, path, body, WARM if times > WARM else 2) for proxy in measured]
            best = [float("inf")] * len(measured)
            for _ in range(ROUNDS):
                for at, proxy in enumerate(measured):
                    best[at] = min(best[at], _cpu(proxy, path, body, times) / times)
            for usage, cpu in zip(("", "usage: body"), best[1:], strict=False):
                row = f"{label}, {events[0]} events" if events[0] else label
                print(
                    f"{row:35}{usage:12}{best[0] * 1e3:8.2f} -> {cpu * 1e3:8.2f} ms"
                    f"{cpu / best[0] - 1:+8.1%}",
                    flush=True,
                )
    return 0


@contextmanager
def long_stream() -> Iterator[str]:
    """Run the server of long streams in another process, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.long_stream", str(port)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _proxy(stack: ExitStack, servers: tuple[Any, str], usage: str) -> Proxy:
    """Return a proxy with chatmend and this value of its option, or with an empty callback."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    callback = "chatmend.litellm.callback" if usage else "benchmarks.empty_callback.callback"
    addresses = {name: servers[0].url(path) for name, (_, path) in DEPLOYMENTS.items()}
    models = {name: model for name, (model, _) in DEPLOYMENTS.items()}
    models["long"] = models["ant"]
    return Proxy(
        servers[0],
        folder,
        guardrails=[],
        chatmend={"usage": usage},
        litellm_settings={"callbacks": callback},
        model_list=[
            {
                "model_name": name,
                "litellm_params": {
                    "model": model,
                    "api_key": "any",
                    "api_base": addresses.get(name, servers[1]),
                },
            }
            for name, model in models.items()
        ],
    )


def _send(proxy: Proxy, path: str, body: dict[str, Any], times: int) -> int:
    """Send requests that are not measured, and return the number of events of an answer."""
    for _ in range(times):
        answer = proxy.post(path, body)
        answer.raise_for_status()
    return answer.text.count("data:")


def _cpu(proxy: Proxy, path: str, body: dict[str, Any], times: int) -> float:
    start = proxy.cpu_seconds()
    for _ in range(times):
        answer = proxy.post(path, body)
        assert answer.is_success, (proxy.url(path), answer.text)
    return proxy.cpu_seconds() - start


if __name__ == "__main__":
    sys.exit(main())
