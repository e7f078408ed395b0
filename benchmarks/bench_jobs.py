"""A big JSONL file of conversations, repaired by one process and by two: time, processor time, and memory.

``python benchmarks/bench_jobs.py 1000`` makes a file of 1,000 MB in a temporary directory (``TMPDIR`` says where; room
for three such files is needed), and takes it away at the end. Beside the time on the clock, which on a busy machine
says little, it prints the processor time of the main process and of its workers: two workers cannot be faster than
the busier of the main process and one worker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = "anthropic/claude-sonnet-4-5"
_MEASURE = """
import resource, sys, time
from chatmend.__main__ import main
sys.argv = ["chatmend", *sys.argv[1:]]
began = time.perf_counter()
try:
    main()
except SystemExit:
    pass
own, workers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
told = [time.perf_counter() - began, own.ru_utime + own.ru_stime, workers.ru_utime + workers.ru_stime]
print("MEASURED", *told, max(own.ru_maxrss, workers.ru_maxrss))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the command took, in seconds, and the most memory that one of its processes had, in MB."""

    clock: float
    main: float
    workers: float
    memory: float


def conversations(size: int) -> Iterator[bytes]:
    """Lines of fine-tuning data, so many bytes: of 20 messages and about 9 KB each, every tenth with a lost result."""
    done, number = 0, 0
    while done < size:
        line = (json.dumps({"messages": _messages(number), "source": number}) + "\n").encode()
        yield line
        done += len(line)
        number += 1


def _messages(number: int) -> list[dict[str, object]]:
    out: list[dict[str, object]] = [{"role": "system", "content": "You look things up in a large repository. " * 9}]
    for turn in range(5):
        arguments = json.dumps({"path": f"src/module_{number}_{turn}.py"})
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "search", "arguments": arguments}}
        out.append({"role": "user", "content": f"Question {number}: please look at this once more. " * 13})
        out.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if number % 10 or turn != 2:
            out.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": "def found():  # line\n" * 33})
        out.append({"role": "assistant", "content": "I have found <b>something</b>, and here it is. " * 8 + "Done."})
    return out


def repaired(path: Path, jobs: int) -> Run:
    """Repair the file into another directory with so many processes."""
    with tempfile.TemporaryDirectory(dir=path.parent) as out:
        command = [
            sys.executable,
            "-c",
            _MEASURE,
            "repair",
            str(path),
            "-t",
            TARGET,
            "--out",
            out,
            "-q",
            "-j",
            str(jobs),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        said, _, told = done.stdout.partition("MEASURED")
        print(f"    {said.strip().splitlines()[-1]}")
        clock, main, workers, memory = map(float, told.split())
        return Run(clock, main, workers, memory / 1024)


def main(megabytes: int) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as name:
        path, began = Path(name) / "conversations.jsonl", time.perf_counter()
        with path.open("wb") as file:
            file.writelines(conversations(megabytes * 1_000_000))
        print(f"{path.stat().st_size:,} bytes written in {time.perf_counter() - began:.0f} s")
        runs = {jobs: repaired(path, jobs) for jobs in (1, 2)}
    for jobs, run in runs.items():
        print(
            f"--jobs {jobs}: {run.clock:7.1f} s, processor time {run.main:7.1f} s in the main process and "
            f"{run.workers:7.1f} s in workers, {run.memory:5.0f} MB; load {os.getloadavg()[0]:.1f}"
        )
    alone, two = runs[1], runs[2]
    print(f"on the clock {alone.clock / two.clock:.2f} times as fast with two")
    print(f"by processor time at most {alone.main / max(two.main, two.workers / 2):.2f} times as fast with two")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
