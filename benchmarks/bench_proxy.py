"""Measures the CPU time that chatmend adds to clean requests through a LiteLLM proxy.

    python -m benchmarks.bench_proxy

A proxy with a callback that does nothing and others with chatmend get the same requests in turns.
The CPU time is that of the whole process of a proxy. Single rounds differ by 10 % and more, because
LiteLLM collects garbage and writes its records at other times, so the median of the differences of
the rounds counts; the range in which half of them lie is printed behind it.
"""

from __future__ import annotations

import os
import socket
import statistics
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

ROUNDS, WARM = 40, 20


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
            rounds = [
                [_cpu(proxy, path, body, times) / times for proxy in measured]
                for _ in range(ROUNDS)
            ]
            for at, usage in enumerate(("", "usage: body")[: len(measured) - 1], 1):
                row = f"{label}, {events[0]} events" if events[0] else label
                print(f"{row:35}{usage:12}{_compared([(r[0], r[at]) for r in rounds])}", flush=True)
    return 0


def _compared(pairs: list[tuple[float, float]]) -> str:
    """Return the median without chatmend and the median difference, with its quartiles."""
    bare = statistics.median(one for one, _ in pairs)
    low, middle, high = statistics.quantiles([more - one for one, more in pairs], n=4)
    shares = f"{middle / bare:+6.1%}  ({low / bare:+.1%} to {high / bare:+.1%})"
    return f"{bare * 1e3:8.2f} ms {middle * 1e6:+7.0f} us {shares}"


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
