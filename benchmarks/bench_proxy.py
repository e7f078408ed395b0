"""Measures the CPU time that chatmend adds to clean requests through a LiteLLM proxy.

    python -m benchmarks.bench_proxy [--database | --instructions]

In one proxy, chatmend's callback and one that does nothing take turns of some calls, in the order
ABBA and BAAB; the CPU time is that of the whole process. Two processes cannot be compared: equal
ones differ by 1 to 8 %, because it matters where they happen to store their code and data. Printed
are the mean of the differences without the tenth at each end, and its standard error.

With ``--database`` the proxy has a PostgreSQL, and the client a key of a team, as in production.
With ``--instructions`` valgrind counts the instructions of one proxy of each kind. The count hardly
varies, but does not show how long the processor waits for memory.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
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

from tests.data.server import create_tables, running_server
from tests.litellm_adapter import proxy as proxies
from tests.litellm_adapter.database import environment
from tests.litellm_adapter.proxy import DEPLOYMENTS, Proxy
from tests.ports import free_port

from bench_litellm import sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDS, WARM, CALLS = 120, 60, 10
KINDS = ("", "hidden", "body")
"""The values of the option ``usage``; a proxy with an empty one has no chatmend, for valgrind."""
COUNTED = 4
"""How often the instructions are counted; the median counts."""


def requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield label, path and body."""
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": f"Message number {number}."}
        for number in range(21)
    ]
    yield "chat", "/v1/chat/completions", {"model": "oai", "messages": messages}
    body = {"model": "ant", "max_tokens": 64, "messages": messages}
    yield "messages", "/v1/messages", body
    yield "responses", "/v1/responses", {"model": "oai", "input": messages}
    stream = {"model": "long", "max_tokens": 9_000, "messages": messages, "stream": True}
    yield "messages, stream", "/v1/messages", stream


def main() -> int:
    """Print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    kinds_of_run = parser.add_mutually_exclusive_group()
    kinds_of_run.add_argument("--database", action="store_true", help="with a PostgreSQL")
    kinds_of_run.add_argument("--instructions", action="store_true", help="count instructions")
    options = parser.parse_args()
    if options.instructions:
        return _count_instructions()
    with ExitStack() as stack:
        servers = stack.enter_context(sandbox()), stack.enter_context(long_stream())
        database = ""
        if options.database:
            database = stack.enter_context(running_server())
            create_tables(database)
        kinds = KINDS[1:]
        started = {kind: _proxy(stack, servers, kind, database=database).start() for kind in kinds}
        for kind, proxy in started.items():
            stack.enter_context(proxy)
            if database:
                _use_key_of_a_team(proxy, kind)
        for label, path, body in requests():
            is_stream = "stream" in body
            for kind in kinds if is_stream else kinds[:1]:
                events = _send(started[kind], path, body, 4 if is_stream else WARM)
                row = f"{label}, {events} events" if events else label
                usage = "usage: body" if kind == "body" else ""
                print(f"{row:35}{usage:12}{_compared(started[kind], path, body)}", flush=True)
    return 0


def _use_key_of_a_team(proxy: Proxy, name: str) -> None:
    """Make a team and its key, and use the key from now on."""
    key, team = f"sk-of-a-client-{name}", f"team-{name}"
    proxy.post("/team/new", {"team_id": team}).raise_for_status()
    proxy.post("/key/generate", {"key": key, "team_id": team}).raise_for_status()
    proxy.key = key


def _compared(proxy: Proxy, path: str, body: dict[str, Any]) -> str:
    """Return the CPU time of a call without chatmend, and what chatmend adds to it."""
    calls, rounds = (1, ROUNDS // 3) if "stream" in body else (CALLS, ROUNDS)
    base: list[float] = []
    more: list[float] = []
    for number in range(rounds):
        times: dict[bool, float] = {True: 0.0, False: 0.0}
        for is_on in (False, True, True, False) if number % 2 else (True, False, False, True):
            os.kill(proxy.pid, signal.SIGUSR2 if is_on else signal.SIGUSR1)
            if calls > 1:
                _send(proxy, path, body, 1)
            times[is_on] += _cpu(proxy, path, body, calls) / calls / 2
        base.append(times[False])
        more.append(times[True] - times[False])
    cut = rounds // 10
    kept = sorted(more)[cut : rounds - cut]
    mean, error = statistics.mean(kept), statistics.stdev(kept) / len(kept) ** 0.5
    bare = statistics.median(base)
    return f"{bare * 1e3:8.2f} ms {mean * 1e6:+7.0f} us {mean / bare:+6.1%} (+- {error / bare:.1%})"


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
        for label, path, body in requests():
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
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.long_stream", str(port)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _proxy(
    stack: ExitStack,
    servers: tuple[Any, str],
    usage: str,
    run_by: Sequence[str] = (),
    database: str = "",
) -> Proxy:
    """Return a proxy with chatmend and this value of its option, or with an empty callback."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    switched = "chatmend.litellm.callback" if run_by else "benchmarks.switched_callback.callback"
    callback = switched if usage else "benchmarks.empty_callback.callback"
    addresses = {name: servers[0].url(path) for name, (_, path) in DEPLOYMENTS.items()}
    models = {name: model for name, (model, _) in DEPLOYMENTS.items()}
    models["long"] = models["ant"]
    return Proxy(
        servers[0],
        folder,
        environment(database) if database else None,
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
