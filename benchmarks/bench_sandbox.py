"""``python benchmarks/bench_sandbox.py [SECONDS]``: 200 clients at once, and what the server's memory does meanwhile.

Each client sends small chat requests over one connection and checks every answer. The server runs in a process of its
own, so both share the cores of this machine; what it costs is also said in its own processor time, which a busy machine
does not change. At the end a body of 40 MB is sent to a provider that takes no more than 32.
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

CLIENTS = 200
_BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello there 0000000000"}]}).encode()
_REQUEST = (
    b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"authorization: Bearer k\r\ncontent-length: %d\r\n\r\n" % len(_BODY)
) + _BODY
_SERVE = "from chatmend.sandbox import Sandbox; import time; Sandbox(port={}, bodies=False).start(); time.sleep(3600)"
_WANTED = 500
"""Requests a second, on two cores that do nothing else."""


async def _client(port: int, stop: float, counts: dict[str, int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < stop:
        number = counts["right"] + counts["wrong"]
        # another prompt each time: caches must not grow
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


def _seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time of the server so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _run(seconds: float, process: subprocess.Popen[bytes], port: int) -> bool:
    counts = {"right": 0, "wrong": 0}
    begun, spent_before, memory = time.monotonic(), _seconds(process), []
    clients = [asyncio.create_task(_client(port, begun + seconds, counts)) for _ in range(CLIENTS)]
    for _ in range(4):
        await asyncio.sleep(seconds / 4)
        memory.append(_memory(process))
        print(f"  after {time.monotonic() - begun:4.0f} s: {memory[-1]} MB, {counts['right']} answers", flush=True)
    await asyncio.gather(*clients)
    took, cost = time.monotonic() - begun, _seconds(process) - spent_before
    rate, each = counts["right"] / took, cost / counts["right"]
    print(f"{CLIENTS} clients, {took:.0f} s: {rate:.0f} requests a second, {counts['wrong']} wrong")
    print(f"{each * 1000:.2f} ms of the server's processor time each: {1 / each:.0f} a second on a core of its own")
    return not counts["wrong"] and rate >= _WANTED and memory[-1] < memory[1] + 10


async def _heavy(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    message = {"role": "user", "content": "x" * 40_000_000}
    body = json.dumps({"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [message]}).encode()
    lines = ("POST /anthropic/v1/messages HTTP/1.1", "host: localhost", "content-type: application/json")
    writer.write("\r\n".join((*lines, f"content-length: {len(body)}", "", "")).encode() + body)
    answer, told = await _answer(reader)
    writer.close()
    print(f"a body of 40 MB: {answer.splitlines()[0].decode()} {told.decode()[:110]}")
    return answer.startswith(b"HTTP/1.1 413")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Run it for a minute, or as long as the first argument says; exit status 1 where something falls short."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    port = _free_port()
    process = subprocess.Popen([sys.executable, "-c", _SERVE.format(port)])
    try:
        for _ in range(100):
            time.sleep(0.1)
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                continue
        fine = asyncio.run(_run(seconds, process, port))
        return 0 if asyncio.run(_heavy(port)) and fine else 1
    finally:
        process.terminate()


if __name__ == "__main__":
    sys.exit(main())
