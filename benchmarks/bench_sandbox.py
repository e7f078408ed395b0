"""Measures the sandbox with 200 concurrent clients: requests per second and memory.

    python -m benchmarks.bench_sandbox [SECONDS]

Each client sends small chat requests over one connection and checks every answer. The server runs
in another process on the same machine. Its CPU time per request is printed too, because it does not
depend on the load of the machine. At the end a body of 40 MB is sent to a provider that accepts
32 MB at most.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.ports import free_port

CLIENTS = 200
_BODY = json.dumps(
    {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello there 0000000000"}]}
).encode()
_REQUEST = (
    b"POST /openai/v1/chat/completions HTTP/1.1\r\n"
    b"host: localhost\r\ncontent-type: application/json\r\n"
    b"authorization: Bearer k\r\ncontent-length: %d\r\n\r\n" % len(_BODY)
) + _BODY
_SERVE = (
    "from chatmend.sandbox import Sandbox; import time; "
    "Sandbox(port={}, bodies=False).start(); time.sleep(3600)"
)
_MIN_RATE = 500
"""Requests per second, on two otherwise idle cores."""


async def _client(port: int, stop: float, counts: dict[str, int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < stop:
        number = counts["right"] + counts["wrong"]
        # Every prompt differs: caches in the server must not grow without limit.
        writer.write(_REQUEST.replace(b"0000000000", b"%010d" % number))
        head, body = await _answer(reader)
        right = head.startswith(b"HTTP/1.1 200") and b"hello there" in body
        counts["right" if right else "wrong"] += 1
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


def _memory(process: subprocess.Popen[bytes]) -> int:
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(text.split("VmRSS:")[1].split()[0]) // 1024


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of the server in seconds."""
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _run(seconds: float, process: subprocess.Popen[bytes], port: int) -> bool:
    counts = {"right": 0, "wrong": 0}
    begun, spent_before, memory = time.monotonic(), _cpu_seconds(process), []
    clients = [asyncio.create_task(_client(port, begun + seconds, counts)) for _ in range(CLIENTS)]
    for _ in range(4):
        await asyncio.sleep(seconds / 4)
        memory.append(_memory(process))
        print(
            f"  after {time.monotonic() - begun:4.0f} s: {memory[-1]} MB, "
            f"{counts['right']} correct answers",
            flush=True,
        )
    await asyncio.gather(*clients)
    took, cost = time.monotonic() - begun, _cpu_seconds(process) - spent_before
    rate, each = counts["right"] / took, cost / counts["right"]
    print(
        f"{CLIENTS} clients, {took:.0f} s: {rate:.0f} requests per second, "
        f"{counts['wrong']} wrong answers"
    )
    print(
        f"{each * 1000:.2f} ms CPU time of the server per request: "
        f"{1 / each:.0f} requests per second on a dedicated core"
    )
    return not counts["wrong"] and rate >= _MIN_RATE and memory[-1] < memory[1] + 10


async def _refuses_large_body(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    message = {"role": "user", "content": "x" * 40_000_000}
    body = json.dumps(
        {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [message]}
    ).encode()
    lines = (
        "POST /anthropic/v1/messages HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
    )
    writer.write("\r\n".join((*lines, f"content-length: {len(body)}", "", "")).encode() + body)
    head, text = await _answer(reader)
    writer.close()
    print(f"a body of 40 MB: {head.splitlines()[0].decode()} {text.decode()[:110]}")
    return head.startswith(b"HTTP/1.1 413")


def main() -> int:
    """Run the benchmark; return 1 if an answer is wrong, it is too slow or its memory grows.

    The first argument is the duration in seconds, 60 by default.
    """
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _SERVE.format(port)])
    try:
        for _ in range(100):
            time.sleep(0.1)
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                continue
        fast_enough = asyncio.run(_run(seconds, process, port))
        return 0 if asyncio.run(_refuses_large_body(port)) and fast_enough else 1
    finally:
        process.terminate()


if __name__ == "__main__":
    sys.exit(main())
