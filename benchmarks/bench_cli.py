"""What ``chatmend check`` costs on big JSONL, beside reading the same file with ``json.loads`` line by line.

    python benchmarks/bench_cli.py [MEGABYTES]

Each is a process of its own, and CPU time is what is compared: the start of the interpreter and of the command line
counts. Memory is the sum over all processes of what belongs to each alone, sampled while they run (Linux only).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5")
WORDS = ("order", "invoice", "parcel", "refund", "shipped", "paris", "report", "weather", "tool", "please", "where")
READ = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
SAMPLE = 0.2
MISSED = 0.05
"""How many of the results are missing, in the file that is not sound."""


def text(lots: random.Random, words: int) -> str:
    """Some words."""
    return " ".join(lots.choices(WORDS, k=words))


def conversation(lots: random.Random, turns: int, words: int, missed: float = 0) -> list[dict[str, Any]]:
    """A chat with a call in every turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": text(lots, words)}]
    for turn in range(turns):
        call = {"name": "lookup", "arguments": json.dumps({"query": text(lots, 4), "page": turn})}
        messages += [
            {"role": "user", "content": text(lots, words)},
            {"role": "assistant", "content": text(lots, 6), "tool_calls": [
                {"id": f"call_{lots.getrandbits(64):016x}", "type": "function", "function": call}]},
        ]  # fmt: skip
        if lots.random() >= missed:
            call_id = messages[-1]["tool_calls"][0]["id"]
            messages.append({"role": "tool", "tool_call_id": call_id, "content": text(lots, words * 6)})
        messages.append({"role": "assistant", "content": text(lots, words * 2)})
    return [*messages, {"role": "user", "content": text(lots, words)}]


def chat(lots: random.Random) -> dict[str, Any]:
    """A short chat without tools, about 1 KB, as fine-tuning data is stored."""
    said = [{"role": "system", "content": text(lots, 12)}]
    for _ in range(lots.choice((1, 2, 3))):
        said += [{"role": "user", "content": text(lots, 18)}, {"role": "assistant", "content": text(lots, 36)}]
    return {"messages": said}


KINDS = {
    "agents, 12 turns": lambda lots: conversation(lots, 12, 40),
    "agents, some broken": lambda lots: conversation(lots, 12, 40, MISSED / 12),
    "long, 80 turns": lambda lots: conversation(lots, 80, 60),
    "short, one call": lambda lots: conversation(lots, 1, 7),
    "chats of 1 KB": chat,
    "chats with own keys": lambda lots: {"messages": [{**one, "at": "12:00"} for one in chat(lots)["messages"]]},
}


def lines(make: Any, size: int) -> Iterator[str]:  # noqa: ANN401 - one of KINDS
    """Conversations of a kind, one a line, until they are ``size`` characters; a few hundred, over and over."""
    lots = random.Random(7)  # noqa: S311 - the same every time
    known = [f"{json.dumps(make(lots))}\n" for _ in range(400)]
    while size > 0:
        for line in known:
            yield line
            size -= len(line)


def run(words: list[str]) -> tuple[float, float, int]:
    """Seconds of CPU and of the clock, and the most bytes of memory, of a command with all its processes."""
    before, began, most = os.times(), time.monotonic(), 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while process.poll() is None:
            most = max(most, memory(process.pid))
            try:
                process.wait(SAMPLE)
            except subprocess.TimeoutExpired:
                continue
    took, after = time.monotonic() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, took, most


def memory(session: int) -> int:
    """Bytes that the processes of a session hold: shared pages are divided among those who share them."""
    held = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == session:
                lines_of = (entry / "smaps_rollup").read_text().splitlines()
                held += sum(int(line.split()[1]) for line in lines_of if line.startswith("Pss:")) << 10
        except OSError:  # it has ended, or there is no such file here
            continue
    return held


def against(took: tuple[float, float, int], read: tuple[float, float, int]) -> str:
    """What a command took, as multiples of reading."""
    return f"{took[1] / read[1]:5.2f} x ({took[0] / read[0]:5.2f} x), {took[2] >> 20:4} MB"


def main(megabytes: int) -> None:
    """Print a table."""
    print(f"{megabytes} MB of each kind; the clock (the CPU) as a multiple of reading it with json.loads, and memory")
    print(f"{'':<52}{'one process':<28} | {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            path = Path(folder) / "many.jsonl"
            with path.open("w") as file:
                file.writelines(lines(make, megabytes << 20))
            for target in TARGETS:
                check = [sys.executable, "-m", "chatmend", "check", str(path), "--quiet", "--target", target]
                read, one = run([sys.executable, "-c", READ, str(path)]), run([*check, "--jobs", "1"])
                many = run(check)
                print(f"{kind:<22}{target:<30}{against(one, read)} | {against(many, read)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
