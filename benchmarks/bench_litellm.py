"""What chatmend costs inside LiteLLM, in one run.

    python benchmarks/bench_litellm.py

CPU time inside our hooks ÷ CPU time of the whole process, while it sends a valid transcript to a sandbox in another
process, whose time is not counted; in the SDK, and inside a running proxy.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import socket
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

from bench_repair import transcript
from chatmend.litellm import ChatMend
from metered import Meter

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS, ROUNDS, WARM = 100, 5, 30
MODELS = {"openai/gpt-4o": "openai/v1", "anthropic/claude-sonnet-4-5": "anthropic"}


@contextmanager
def sandbox() -> Iterator[Any]:
    """A sandbox in a process of its own, so that its CPU is not counted."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", f"from chatmend.sandbox import serve; serve(port={port})"]
    root = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            while _fails(root):
                if process.poll() is not None:
                    raise RuntimeError("the sandbox ended")
                time.sleep(0.2)
            yield SimpleNamespace(url=lambda path: f"{root}/{path}")
        finally:
            process.terminate()


def _fails(root: str) -> bool:
    try:
        httpx.get(root)
    except httpx.HTTPError:
        return True
    return False


async def send(model: str, base: str, messages: list[Any], times: int) -> None:
    """Calls one after the other, and the log records of all of them."""
    for _ in range(times):
        await litellm.acompletion(model=model, api_key="any", api_base=base, messages=messages, max_retries=0)
    await asyncio.sleep(0.3)


async def share(model: str, base: str, messages: list[Any], calls: int) -> tuple[float, float, float]:
    """The best of several rounds: the hooks' share of the CPU, and both times per call.

    What the same watches show around hooks that do nothing is the watches' own time, and LiteLLM's: it is taken off.
    """
    watches, _ = min(await rounds(CustomLogger(), model, base, messages, calls))
    found = await rounds(ChatMend(on_error="raise"), model, base, messages, calls)
    return min(((ours - watches) / whole, ours - watches, whole) for ours, whole in found)


async def rounds(
    callback: CustomLogger, model: str, base: str, messages: list[Any], calls: int
) -> list[tuple[float, float]]:
    """CPU seconds a call inside the hooks of a callback, and in the whole process, in each of several rounds."""
    meter = Meter(callback)
    litellm.logging_callback_manager._reset_all_callbacks()  # noqa: SLF001 - there is no public way
    litellm.callbacks = [meter.callback]
    await send(model, base, messages, WARM)
    found = []
    for _ in range(ROUNDS):
        before, start = meter.seconds, time.process_time()
        await send(model, base, messages, calls)
        found.append(((meter.seconds - before) / calls, (time.process_time() - start) / calls))
    return found


def best(run: Any, times: int = 20) -> float:  # noqa: ANN401 - any callable
    """CPU seconds of the fastest of several runs."""
    took = []
    for _ in range(times):
        start = time.process_time()
        run()
        took.append(time.process_time() - start)
    return min(took)


def hook_beside_dumps(model: str, base: str) -> tuple[float, float]:
    """The hook on 1,000 messages, and ``json.dumps`` of them."""
    messages = transcript(1_000)
    callback = ChatMend(on_error="raise")
    names = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    kwargs = {"model": model, "messages": messages, "tools": tools, "api_base": base}
    loop = asyncio.new_event_loop()
    hook = best(lambda: loop.run_until_complete(callback.async_pre_call_deployment_hook(kwargs, "acompletion")))
    loop.close()
    return hook, best(functools.partial(json.dumps, messages))


def proxied(place: Any) -> tuple[float, float, float]:  # noqa: ANN401 - a sandbox's address
    """The same share inside a running proxy."""
    paths = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONPATH"] = paths
    settings = {"litellm_settings": {"callbacks": "metered.callback"}, "guardrails": []}
    with tempfile.TemporaryDirectory() as folder, Proxy(place, Path(folder), **settings) as proxy:
        body = {"model": "oai", "messages": valid(20)}
        found = []
        for _ in range(ROUNDS):
            before = _posted(proxy, body, WARM)
            after = _posted(proxy, body, CALLS)
            ours, whole = after["hooks"] - before["hooks"], after["process"] - before["process"]
            calls = after["calls"] - before["calls"]
            found.append((ours / whole, ours / calls, whole / calls))
        return min(found)


def _posted(proxy: Proxy, body: dict[str, Any], times: int) -> dict[str, Any]:
    def told() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(proxy.calls.read_text()) if proxy.calls.exists() else {"calls": 0}
        return found

    goal = told()["calls"] + times
    for _ in range(times):
        proxy.post("/v1/chat/completions", body).raise_for_status()
    while told()["calls"] < goal:
        time.sleep(0.05)
    return told()


def main() -> int:
    """Print one table."""
    with sandbox() as place:
        for model, path in MODELS.items():
            found = asyncio.run(share(model, place.url(path), valid(20), CALLS))
            show(f"acompletion, 20 valid messages, {model}", *found)
        for model, path in MODELS.items():
            found = asyncio.run(share(model, place.url(path), valid(1_000), 10))
            show(f"acompletion, 1,000 valid messages, {model}", *found)
        for model, path in MODELS.items():
            hook, dumps = hook_beside_dumps(model, place.url(path))
            print(f"{f'hook on 1,000 messages, {model}':60}{hook * 1e3:9.2f} ms  {hook / dumps:5.2f} x json.dumps")
        show("proxy, 20 valid messages, openai/gpt-4o", *proxied(place))
    return 0


def show(label: str, portion: float, ours: float, whole: float) -> None:
    """One line."""
    print(f"{label:60}{ours * 1e6:9.0f} us of {whole * 1e3:6.2f} ms CPU a call: {portion:6.2%}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
