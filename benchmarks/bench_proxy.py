"""Measures the CPU time that chatmend adds to clean requests through a LiteLLM proxy.

    python -m benchmarks.bench_proxy [--instructions]

Proxies with a callback that does nothing and proxies with chatmend get the same requests in turns.
The CPU time is that of the whole process of a proxy. It depends on where a process happens to
store its code and data, so each kind has several proxies. Those of the same kind still differ by
1 to 8 %; the last column is this difference, between the proxies without chatmend. A smaller
difference between the kinds shows nothing.

With ``--instructions`` valgrind counts the instructions of one proxy of each kind. The count hardly
varies, but does not show how long the processor waits for memory.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from tests.litellm_adapter import proxy as proxies
from tests.litellm_adapter.proxy import DEPLOYMENTS, Proxy

from bench_litellm import sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDS, WARM, COPIES = 150, 60, 3
KINDS = ("", "hidden", "body")
"""The values of the option ``usage``; a proxy with an empty one has no chatmend."""
COUNTED = 4
"""How often the instructions are counted; the median counts."""


def requests() -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """Yield label, path, body and the number of calls in a turn."""
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": f"Message number {number}."}
        for number in range(21)
    ]
    yield "chat", "/v1/chat/completions", {"model": "oai", "messages": messages}, 3
    body = {"model": "ant", "max_tokens": 64, "messages": messages}
    yield "messages", "/v1/messages", body, 3
    yield "responses", "/v1/responses", {"model": "oai", "input": messages}, 3
    stream = {"model": "long", "max_tokens": 9_000, "messages": messages, "stream": True}
    yield "messages, stream", "/v1/messages", stream, 1


def main() -> int:
    """Print the table."""
    if "--instructions" in sys.argv:
        return _count_instructions()
    with ExitStack() as stack:
        servers = stack.enter_context(sandbox()), stack.enter_context(long_stream())
        started = [_proxy(stack, servers, usage).start() for usage in KINDS * COPIES]
        for proxy in started:
            stack.enter_context(proxy)
        for label, path, body, times in requests():
            kinds = len(KINDS) if "stream" in body else len(KINDS) - 1
            measured = [proxy for at, proxy in enumerate(started) if at % len(KINDS) < kinds]
            warm, rounds = (4, ROUNDS // 3) if "stream" in body else (WARM, ROUNDS)
            events = [_send(proxy, path, body, warm) for proxy in measured]
            table = [_round(measured, path, body, times) for _ in range(rounds)]
            for at in range(1, kinds):
                row = f"{label}, {events[0]} events" if events[0] else label
                usage = "usage: body" if KINDS[at] == "body" else ""
                print(f"{row:35}{usage:12}{_compared(table, at, kinds)}", flush=True)
    return 0


def _round(measured: Sequence[Proxy], path: str, body: dict[str, Any], times: int) -> list[float]:
    """Return the CPU time of a call of each proxy; the proxies are called in random order."""
    found = dict.fromkeys(range(len(measured)), 0.0)
    for at in random.sample(range(len(measured)), len(measured)):
        found[at] = _cpu(measured[at], path, body, times) / times
    return list(found.values())


def _compared(table: list[list[float]], at: int, kinds: int) -> str:
    """Return the time without chatmend, and what the proxies of another kind add to it."""
    # The median of each proxy is free of rounds in which it collected garbage or wrote records.
    medians = [statistics.median(column) for column in zip(*table, strict=True)]
    bare, mended = medians[::kinds], medians[at::kinds]
    base, more = statistics.mean(bare), statistics.mean(mended)
    spread = (max(bare) - min(bare)) / base
    shares = f"{more / base - 1:+6.1%}   (without chatmend {spread:.1%} apart)"
    return f"{base * 1e3:8.2f} ms {(more - base) * 1e6:+7.0f} us {shares}"


def _count_instructions() -> int:
    """Print the instructions of a call of each kind of proxy, counted by valgrind."""
    if shutil.which("callgrind_control") is None:
        print("valgrind is not installed: apt-get install valgrind", file=sys.stderr)
        return 2
    proxies.TIMEOUT = 900  # valgrind takes five times as long
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(sandbox()), stack.enter_context(long_stream())
        counted = []
        for usage in KINDS:
            out = folder / f"{usage or 'none'}.out"
            tool = ("valgrind", "--tool=callgrind", "--instr-atstart=no")
            command = (*tool, f"--callgrind-out-file={out}")
            counted.append((out, _proxy(stack, servers, usage, command).start()))
        for _, proxy in counted:
            stack.enter_context(proxy)
        for label, path, body, _ in requests():
            kinds = len(KINDS) if "stream" in body else len(KINDS) - 1
            counts = [_count(proxy, out, path, body) for out, proxy in counted[:kinds]]
            for usage, count in zip(KINDS, counts, strict=False):
                share = f"{count / counts[0] - 1:+6.1%}" if usage else ""
                name = f"usage: {usage}" if usage else "no chatmend"
                print(f"{label:18}{name:15}{count / 1e6:8.2f} million instructions {share}")
    return 0


def _count(proxy: Proxy, out: Path, path: str, body: dict[str, Any]) -> float:
    """Return the instructions of a call."""
    warm, times = (2, 2) if "stream" in body else (WARM, 30)
    _send(proxy, path, body, warm)
    _control(proxy, "--instr=on")
    _send(proxy, path, body, 1)
    _instructions(proxy, out)
    found = []
    for _ in range(COUNTED):
        _send(proxy, path, body, times)
        found.append(_instructions(proxy, out) / times)
    _control(proxy, "--instr=off")
    return statistics.median(found)


def _control(proxy: Proxy, command: str) -> None:
    control = shutil.which("callgrind_control")
    assert control is not None
    subprocess.run([control, command, str(proxy.pid)], check=True, capture_output=True)


def _instructions(proxy: Proxy, out: Path) -> int:
    """Return the instructions since the last dump of a proxy."""
    before = set(out.parent.glob(f"{out.name}.*"))
    _control(proxy, "--dump")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for path in set(out.parent.glob(f"{out.name}.*")) - before:
            if total := re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE):
                return int(total[1])
        time.sleep(0.1)
    raise RuntimeError("valgrind has written no dump in 60 s")


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


def _proxy(
    stack: ExitStack, servers: tuple[Any, str], usage: str, run_by: Sequence[str] = ()
) -> Proxy:
    """Return a proxy with chatmend and this value of its option, or with an empty callback."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    callback = "chatmend.litellm.callback" if usage else "benchmarks.empty_callback.callback"
    addresses = {name: servers[0].url(path) for name, (_, path) in DEPLOYMENTS.items()}
    models = {name: model for name, (model, _) in DEPLOYMENTS.items()}
    models["long"] = models["ant"]
    return Proxy(
        servers[0],
        folder,
        run_by=run_by,
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
