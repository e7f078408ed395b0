"""Compares ``chatmend check`` on a large JSONL file with ``json.loads`` of each line.

    python benchmarks/bench_cli.py [MEGABYTES]

Each measurement is a new process, so it includes the start of the interpreter and of the command
line. The table shows wall-clock time and, in parentheses, CPU time, as multiples of the time of
``json.loads``. Memory is the peak of the proportional set size (PSS) of all processes of the
command, sampled while they run (Linux only).
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
WORDS = (
    "order",
    "invoice",
    "parcel",
    "refund",
    "shipped",
    "paris",
    "report",
    "weather",
    "tool",
    "please",
    "where",
)
JSON_LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
SAMPLE_SECONDS = 0.2
MISSING_RESULTS = 0.05
"""Average number of missing tool results per conversation in the kind with defects."""


def random_words(rng: random.Random, words: int) -> str:
    """Return random words."""
    return " ".join(rng.choices(WORDS, k=words))


def conversation(
    rng: random.Random, turns: int, words: int, missing_share: float = 0
) -> list[dict[str, Any]]:
    """Return an agent transcript with one tool call in every turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": random_words(rng, words)}]
    for turn in range(turns):
        call = {
            "name": "lookup",
            "arguments": json.dumps({"query": random_words(rng, 4), "page": turn}),
        }
        messages += [
            {"role": "user", "content": random_words(rng, words)},
            {"role": "assistant", "content": random_words(rng, 6), "tool_calls": [
                {"id": f"call_{rng.getrandbits(64):016x}", "type": "function", "function": call}]},
        ]  # fmt: skip
        if rng.random() >= missing_share:
            call_id = messages[-1]["tool_calls"][0]["id"]
            messages.append(
                {"role": "tool", "tool_call_id": call_id, "content": random_words(rng, words * 6)}
            )
        messages.append({"role": "assistant", "content": random_words(rng, words * 2)})
    return [*messages, {"role": "user", "content": random_words(rng, words)}]


def chat(rng: random.Random) -> dict[str, Any]:
    """Return a chat of about 1 KB without tools, in the format of fine-tuning data."""
    messages = [{"role": "system", "content": random_words(rng, 12)}]
    for _ in range(rng.choice((1, 2, 3))):
        messages += [
            {"role": "user", "content": random_words(rng, 18)},
            {"role": "assistant", "content": random_words(rng, 36)},
        ]
    return {"messages": messages}


KINDS = {
    "agents, 12 turns": lambda rng: conversation(rng, 12, 40),
    "agents, some defects": lambda rng: conversation(rng, 12, 40, MISSING_RESULTS / 12),
    "long, 80 turns": lambda rng: conversation(rng, 80, 60),
    "short, one call": lambda rng: conversation(rng, 1, 7),
    "chats of 1 KB": chat,
    "chats, extra keys": lambda rng: {
        "messages": [{**message, "at": "12:00"} for message in chat(rng)["messages"]]
    },
}


def lines(make: Any, size: int) -> Iterator[str]:  # noqa: ANN401 - a value of KINDS
    """Yield at least ``size`` characters of JSONL lines: 400 conversations, repeated."""
    rng = random.Random(7)  # noqa: S311 - the same file in every run
    known = [f"{json.dumps(make(rng))}\n" for _ in range(400)]
    while size > 0:
        for line in known:
            yield line
            size -= len(line)


def run(words: list[str]) -> tuple[float, float, int]:
    """Return CPU seconds, wall-clock seconds and peak memory in bytes of a command.

    Child processes are included.
    """
    before, began, peak = os.times(), time.monotonic(), 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, memory(process.pid))
            try:
                process.wait(SAMPLE_SECONDS)
            except subprocess.TimeoutExpired:
                continue
    wall, after = time.monotonic() - began, os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return cpu, wall, peak


def memory(session: int) -> int:
    """Return the proportional set size, in bytes, of all processes of a session."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == session:
                lines_of = (entry / "smaps_rollup").read_text().splitlines()
                total += (
                    sum(int(line.split()[1]) for line in lines_of if line.startswith("Pss:")) << 10
                )
        except OSError:  # the process has ended, or the system has no smaps_rollup
            continue
    return total


def multiples(command: tuple[float, float, int], loads: tuple[float, float, int]) -> str:
    """Format the time of a command as multiples of the time of ``json.loads``."""
    return (
        f"{command[1] / loads[1]:5.2f} x ({command[0] / loads[0]:5.2f} x), {command[2] >> 20:4} MB"
    )


def main(megabytes: int) -> None:
    """Print the table."""
    print(
        f"{megabytes} MB of each kind: wall-clock time (CPU time) as multiples of json.loads, "
        "and peak memory"
    )
    print(f"{'':<52}{'--jobs 1':<28} | default --jobs, {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            path = Path(folder) / "many.jsonl"
            with path.open("w") as file:
                file.writelines(lines(make, megabytes << 20))
            for target in TARGETS:
                check = [
                    sys.executable,
                    "-m",
                    "chatmend",
                    "check",
                    str(path),
                    "--quiet",
                    "--target",
                    target,
                ]
                read, one = (
                    run([sys.executable, "-c", JSON_LOADS, str(path)]),
                    run([*check, "--jobs", "1"]),
                )
                many = run(check)
                print(
                    f"{kind:<22}{target:<30}{multiples(one, read)} | {multiples(many, read)}",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
