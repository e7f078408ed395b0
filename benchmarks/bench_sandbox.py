"""``python benchmarks/bench_sandbox.py [SECONDS]``: 200 clients at once, and what the server's memory does meanwhile.

Each client sends small chat requests over one connection and checks every answer. The server runs in a process of its
own, so both share the cores of this machine.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

CLIENTS, PORT = 200, 18_090
_BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello there"}]}).encode()
_REQUEST = (
    b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"authorization: Bearer k\r\ncontent-length: %d\r\n\r\n" % len(_BODY)
) + _BODY
_SERVE = (
    f"from chatmend.sandbox import Sandbox; import time; Sandbox(port={PORT}, bodies=False).start(); time.sleep(600)"
)


async def _client(stop: float, counts: dict[str, int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    while time.monotonic() < stop:
        writer.write(_REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        right = head.startswith(b"HTTP/1.1 200") and b"hello there" in body
        counts["right" if right else "wrong"] += 1
    writer.close()


def _memory(process: subprocess.Popen[bytes]) -> int:
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(text.split("VmRSS:")[1].split()[0]) // 1024


async def _run(seconds: float, process: subprocess.Popen[bytes]) -> None:
    counts = {"right": 0, "wrong": 0}
    begun = time.monotonic()
    clients = [asyncio.create_task(_client(begun + seconds, counts)) for _ in range(CLIENTS)]
    for _ in range(4):
        await asyncio.sleep(seconds / 4)
        print(f"  after {time.monotonic() - begun:4.0f} s: {_memory(process)} MB, {counts['right']} answers")
    await asyncio.gather(*clients)
    spent = time.monotonic() - begun
    print(f"{CLIENTS} clients, {spent:.0f} s: {counts['right'] / spent:.0f} requests a second, {counts['wrong']} wrong")


def main() -> None:
    """Run it for a minute, or as long as the first argument says."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    process = subprocess.Popen([sys.executable, "-c", _SERVE])
    try:
        for _ in range(100):
            time.sleep(0.1)
            try:
                asyncio.run(asyncio.wait_for(asyncio.open_connection("127.0.0.1", PORT), 1))
                break
            except OSError:
                continue
        asyncio.run(_run(seconds, process))
    finally:
        process.terminate()


if __name__ == "__main__":
    main()
