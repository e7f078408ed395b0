"""Measures time and memory of the repair of a large JSONL file with one process and with two.

``python benchmarks/bench_jobs.py 1000`` writes a file of 1,000 MB to a temporary directory, which
is deleted at the end. The directory (see ``TMPDIR``) needs space for three such files. Wall-clock
time varies on a busy machine, so the script also prints the CPU time of the main process and
of its workers. A run with two workers takes at least the CPU time of the main process, and at
least that of one worker.
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
wall = time.perf_counter() - began
own = resource.getrusage(resource.RUSAGE_SELF)
workers = resource.getrusage(resource.RUSAGE_CHILDREN)
print("MEASURED", wall, own.ru_utime + own.ru_stime, workers.ru_utime + workers.ru_stime)
print(max(own.ru_maxrss, workers.ru_maxrss))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of one run: seconds, and the peak memory of its largest process in MB."""

    wall: float
    main_cpu: float
    worker_cpu: float
    memory: float


def conversations(size: int) -> Iterator[bytes]:
    """Yield at least ``size`` bytes of JSONL lines.

    Each line is a conversation of about 20 messages and 9 KB. In every tenth, one tool result is
    missing.
    """
    done, number = 0, 0
    while done < size:
        line = (json.dumps({"messages": _messages(number), "source": number}) + "\n").encode()
        yield line
        done += len(line)
        number += 1


def _messages(number: int) -> list[dict[str, object]]:
    out: list[dict[str, object]] = [
        {"role": "system", "content": "You look things up in a large repository. " * 9}
    ]
    for turn in range(5):
        arguments = json.dumps({"path": f"src/module_{number}_{turn}.py"})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "search", "arguments": arguments},
        }
        out.append(
            {"role": "user", "content": f"Question {number}: please look at this once more. " * 13}
        )
        out.append({"role": "assistant", "content": None, "tool_calls": [call]})
        if number % 10 or turn != 2:
            out.append(
                {
                    "role": "tool",
                    "tool_call_id": f"call_{turn}",
                    "content": "def found():  # line\n" * 33,
                }
            )
        out.append(
            {
                "role": "assistant",
                "content": "I have found <b>something</b>, and here it is. " * 8 + "Done.",
            }
        )
    return out


def repair_file(path: Path, jobs: int) -> Run:
    """Repair the file into another directory with ``jobs`` processes."""
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
        output, _, numbers = done.stdout.partition("MEASURED")
        print(f"    {output.strip().splitlines()[-1]}")
        wall, main_cpu, worker_cpu, memory = map(float, numbers.split())
        return Run(wall, main_cpu, worker_cpu, memory / 1024)


def main(megabytes: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        path, began = Path(name) / "conversations.jsonl", time.perf_counter()
        with path.open("wb") as file:
            file.writelines(conversations(megabytes * 1_000_000))
        print(f"{path.stat().st_size:,} bytes written in {time.perf_counter() - began:.0f} s")
        runs = {jobs: repair_file(path, jobs) for jobs in (1, 2)}
    for jobs, run in runs.items():
        print(
            f"--jobs {jobs}: {run.wall:7.1f} s wall-clock time, "
            f"CPU time {run.main_cpu:7.1f} s in the main process and "
            f"{run.worker_cpu:7.1f} s in workers, {run.memory:5.0f} MB; "
            f"load average {os.getloadavg()[0]:.1f}"
        )
    one, two = runs[1], runs[2]
    print(f"speed-up with two processes, wall-clock time: {one.wall / two.wall:.2f}")
    print(
        "upper limit of the speed-up by CPU time: "
        f"{one.main_cpu / max(two.main_cpu, two.worker_cpu / 2):.2f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
