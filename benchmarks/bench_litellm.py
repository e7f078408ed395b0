"""Measures the overhead of chatmend inside LiteLLM.

    python benchmarks/bench_litellm.py

The overhead is the CPU time inside chatmend's hooks, divided by the CPU time of the whole process
while it sends a valid transcript to a sandbox. The sandbox runs in another process, so its time is
not counted. Measured with LiteLLM's SDK and inside a running proxy.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import httpx
import litellm
from litellm.integrations.custom_logger import CustomLogger
from tests.litellm_adapter.proxy import Proxy
from tests.litellm_adapter.transcripts import valid
from tests.ports import free_port

from bench_repair import transcript
from chatmend.litellm import ChatMend
from metered import Meter

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS, ROUNDS, WARM = 100, 5, 30
MODELS = {"openai/gpt-4o": "openai/v1", "anthropic/claude-sonnet-4-5": "anthropic"}


@contextmanager
def sandbox() -> Iterator[Any]:
    """Run a sandbox in another process, so that its CPU time is not counted."""
    port = free_port()
    command = [sys.executable, "-c", f"from chatmend.sandbox import serve; serve(port={port})"]
    root = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            while _is_unreachable(root):
                if process.poll() is not None:
                    raise RuntimeError("the sandbox process exited before it accepted a request")
                time.sleep(0.2)
            yield SimpleNamespace(url=lambda path: f"{root}/{path}")
        finally:
            process.terminate()


def _is_unreachable(root: str) -> bool:
    try:
        httpx.get(root)
    except httpx.HTTPError:
        return True
    return False


async def send(model: str, base: str, messages: list[Any], times: int) -> None:
    """Send calls one after the other and wait for their log records."""
    for _ in range(times):
        await litellm.acompletion(
            model=model, api_key="any", api_base=base, messages=messages, max_retries=0
        )
    await asyncio.sleep(0.3)


async def share(
    model: str, base: str, messages: list[Any], calls: int
) -> tuple[float, float, float]:
    """Return the hooks' share of the CPU time, and both times per call, of the best round.

    The same measurement around hooks that do nothing gives the time of the meter and of LiteLLM;
    it is subtracted.
    """
    empty, _ = min(await rounds(CustomLogger(), model, base, messages, calls))
    found = await rounds(ChatMend(on_error="raise"), model, base, messages, calls)
    return min(((hooks - empty) / whole, hooks - empty, whole) for hooks, whole in found)


async def rounds(
    callback: CustomLogger, model: str, base: str, messages: list[Any], calls: int
) -> list[tuple[float, float]]:
    """Return CPU seconds per call inside the hooks and in the whole process, for each round."""
    meter = Meter(callback)
    litellm.logging_callback_manager._reset_all_callbacks()  # noqa: SLF001 - no public function
    litellm.callbacks = [meter.callback]
    await send(model, base, messages, WARM)
    found = []
    for _ in range(ROUNDS):
        before, start = meter.seconds, time.process_time()
        await send(model, base, messages, calls)
        found.append(((meter.seconds - before) / calls, (time.process_time() - start) / calls))
    return found


def best(run: Any, times: int = 20) -> float:  # noqa: ANN401 - any callable
    """Return the CPU seconds of the fastest of several runs."""
    took = []
    for _ in range(times):
        start = time.process_time()
        run()
        took.append(time.process_time() - start)
    return min(took)


def time_hook_and_dumps(model: str, base: str) -> tuple[float, float]:
    """Return the CPU seconds of the hook and of ``json.dumps`` on the same 1,000 messages."""
    messages = transcript(1_000)
    callback = ChatMend(on_error="raise")
    names = {
        call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()
    }
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in names
    ]
    kwargs = {"model": model, "messages": messages, "tools": tools, "api_base": base}
    loop = asyncio.new_event_loop()
    hook = best(
        lambda: loop.run_until_complete(
            callback.async_pre_call_deployment_hook(kwargs, "acompletion")
        )
    )
    loop.close()
    return hook, best(functools.partial(json.dumps, messages))


def share_in_proxy(server: Any) -> tuple[float, float, float]:  # noqa: ANN401 - see ``sandbox``
    """Return what ``share`` returns, measured inside a running proxy."""
    paths = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONPATH"] = paths
    settings = {"litellm_settings": {"callbacks": "metered.callback"}, "guardrails": []}
    with tempfile.TemporaryDirectory() as folder, Proxy(server, Path(folder), **settings) as proxy:
        body = {"model": "oai", "messages": valid(20)}
        found = []
        for _ in range(ROUNDS):
            before = _posted(proxy, body, WARM)
            after = _posted(proxy, body, CALLS)
            hooks, whole = after["hooks"] - before["hooks"], after["process"] - before["process"]
            calls = after["calls"] - before["calls"]
            found.append((hooks / whole, hooks / calls, whole / calls))
        return min(found)


def _posted(proxy: Proxy, body: dict[str, Any], times: int) -> dict[str, Any]:
    def read_meter() -> dict[str, Any]:
        found: dict[str, Any] = (
            json.loads(proxy.calls.read_text()) if proxy.calls.exists() else {"calls": 0}
        )
        return found

    goal = read_meter()["calls"] + times
    for _ in range(times):
        proxy.post("/v1/chat/completions", body).raise_for_status()
    while read_meter()["calls"] < goal:
        time.sleep(0.05)
    return read_meter()


def main() -> int:
    """Print the table."""
    with sandbox() as server:
        for model, path in MODELS.items():
            found = asyncio.run(share(model, server.url(path), valid(20), CALLS))
            print_share(f"acompletion, 20 valid messages, {model}", *found)
        for model, path in MODELS.items():
            found = asyncio.run(share(model, server.url(path), valid(1_000), 10))
            print_share(f"acompletion, 1,000 valid messages, {model}", *found)
        for model, path in MODELS.items():
            hook, dumps = time_hook_and_dumps(model, server.url(path))
            print(
                f"{f'hook on 1,000 messages, {model}':60}{hook * 1e3:9.2f} ms"
                f"  {hook / dumps:5.2f} x json.dumps"
            )
        print_share("proxy, 20 valid messages, openai/gpt-4o", *share_in_proxy(server))
    return 0


def print_share(label: str, portion: float, hooks: float, whole: float) -> None:
    """Print one line."""
    print(
        f"{label:60}{hooks * 1e6:9.0f} us of {whole * 1e3:6.2f} ms CPU time per call: "
        f"{portion:6.2%}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
