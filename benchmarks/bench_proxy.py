"""Measures the CPU time that chatmend adds to clean requests through a LiteLLM proxy.

    python -m benchmarks.bench_proxy

Two proxies, one of them with chatmend, get the same requests in turns. The CPU time is that of the
whole process of a proxy. Each figure is the median of the rounds; a round is one turn of each.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from tests.litellm_adapter.proxy import Proxy
from tests.litellm_adapter.transcripts import valid

from bench_litellm import sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, WARM = 12, 20
WORDS = " ".join(f"word{number}" for number in range(1_500))
"""The sandbox answers with the words of the last message, one in each event of a stream."""


def requests() -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """Yield label, path, body and the number of calls in a turn."""
    messages = valid(20)
    yield "chat", "/v1/chat/completions", {"model": "oai", "messages": messages}, 40
    body = {"model": "ant", "max_tokens": 64, "messages": messages}
    yield "messages", "/v1/messages", body, 40
    items = [{"role": one["role"], "content": one["content"]} for one in messages]
    yield "responses", "/v1/responses", {"model": "oai", "input": items}, 40
    long = [{"role": "user", "content": WORDS}]
    stream = {"model": "ant", "max_tokens": 9_000, "messages": long, "stream": True}
    yield "messages, stream of 1,500 events", "/v1/messages", stream, 6


def main(usage: str) -> int:
    """Print the table; ``usage`` is the option of chatmend."""
    with ExitStack() as stack:
        server = stack.enter_context(sandbox())
        plain, mended = (_proxy(stack, server, callbacks, usage) for callbacks in (False, True))
        for proxy in (plain, mended):
            proxy.start()
        for proxy in (plain, mended):
            stack.enter_context(proxy)
        for label, path, body, times in requests():
            events = _send((plain, mended), path, body, WARM if times > WARM else 2)
            shares, before = [], 0.0
            for _ in range(ROUNDS):
                without = _cpu(plain, path, body, times)
                shares.append(_cpu(mended, path, body, times) / without - 1)
                before += without
            share, call = statistics.median(shares), before / ROUNDS / times * 1e3
            print(f"{label:40}{events:6} events{call:9.2f} ms CPU{share:+8.1%}", flush=True)
    return 0


def _proxy(stack: ExitStack, server: Any, with_chatmend: bool, usage: str) -> Proxy:  # noqa: ANN401, FBT001 - see `sandbox`
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    callbacks = ["chatmend.litellm.callback"] if with_chatmend else []
    options = {"chatmend": {"usage": usage}, "litellm_settings": {"callbacks": callbacks}}
    return Proxy(server, folder, guardrails=[], **options)


def _send(proxies: tuple[Proxy, Proxy], path: str, body: dict[str, Any], times: int) -> int:
    """Send requests that are not measured, and return the number of events of an answer."""
    events = 0
    for proxy in proxies:
        for _ in range(times):
            answer = proxy.post(path, body)
            answer.raise_for_status()
            events = answer.text.count("\ndata:")
    return events


def _cpu(proxy: Proxy, path: str, body: dict[str, Any], times: int) -> float:
    start = proxy.cpu_seconds()
    for _ in range(times):
        proxy.post(path, body).raise_for_status()
    return proxy.cpu_seconds() - start


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["hidden"]))
