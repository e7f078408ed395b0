"""Measures a repair of many rows next to a bare loop: ``make scale-data ROWS=1000000``.

Each step prints one line. The ratios compare runs that follow each other, so other programs on the
machine disturb them; CPU time is disturbed less.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.scale.processes import Measured, measure

MODULE = [sys.executable, "-m"]
TARGET = "hosted_vllm/Qwen/Qwen3-8B"
SAMPLE = 200
"""Rows of each kind for TRL's trainers."""
MEGABYTES = 500


def show(text: str) -> None:
    """Print a line at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


class Steps:
    """The runs over one corpus."""

    def __init__(self, rows: int, folder: Path) -> None:
        """Use ``folder`` for the corpus and all outputs."""
        self.rows, self.folder = rows, folder
        self.lines, self.tables = folder / "jsonl", folder / "parquet"
        self.failures: list[str] = []

    def run(self, title: str, *commands: list[str]) -> Measured:
        """Run a step and print its speed and memory."""
        done = measure(*commands)
        speed = self.rows / done.seconds
        show(
            f"{title:<34} {speed:>8,.0f} rows/s  {done.cpu / self.rows * 1e6:>5,.0f} us CPU per row"
            f"  {done.memory:>5,.0f} MB"
        )
        return done

    def judge(
        self, title: str, value: float, goal: float, unit: str = "", *, most: bool = False
    ) -> None:
        """Print a value next to its goal, the least or the most that it should be."""
        is_met = value <= goal if most else value >= goal
        sign = "<=" if most else ">="
        goal_text = f"goal {sign} {goal:g}{unit}{'' if is_met else ', MISSED'}"
        show(f"{title:<34} {value:>8.2f}{unit}  ({goal_text})")
        if not is_met:
            self.failures.append(title)

    def bare(self, kind: str, workers: int) -> list[list[str]]:
        """Return the commands of a bare loop in as many processes; each reads as many files."""
        files = sorted(map(str, self.lines.rglob("*.jsonl")))
        return [
            [
                *MODULE,
                "benchmarks.scale.bare",
                kind,
                *files[at::workers],
                str(self.folder / f"{kind}-{at}.jsonl"),
            ]
            for at in range(workers)
        ]

    def command(self, out: str, workers: int, *more: str) -> list[str]:
        """Return a run of ``chatmend data`` over the lines."""
        words = [str(self.lines), "--target", TARGET, "--out", str(self.folder / out)]
        return [*MODULE, "chatmend", "data", *words, "--jobs", str(workers), *more]

    def datasets(self, workers: int) -> list[str]:
        """Return a run of ``datasets`` over the tables."""
        out = self.folder / f"datasets-{workers}"
        return [*MODULE, "benchmarks.scale.with_datasets", str(self.tables), str(out), str(workers)]


def measure_speed(steps: Steps) -> None:
    """Run everything on one process and on two, and compare."""
    steps.run("read and write JSON, no repair", *steps.bare("json", 1))
    bare = steps.run("bare loop", *steps.bare("repair", 1))
    line = steps.run("chatmend data --jobs 1", steps.command("one", 1))
    sets = steps.run("datasets.map", steps.datasets(1))
    bare2 = steps.run("two bare loops", *steps.bare("repair", 2))
    line2 = steps.run("chatmend data --jobs 2", steps.command("two", 2))
    sets2 = steps.run("datasets.map, num_proc=2", steps.datasets(2))
    recorded = ("--report", "html", "--changes", str(steps.folder / "changes.parquet"))
    more = steps.run("  with --report and --changes", steps.command("recorded", 2, *recorded))
    replay = [
        *MODULE,
        "chatmend",
        "data",
        str(steps.lines),
        "--out",
        str(steps.folder / "replayed"),
    ]
    replay += ["--replay", str(steps.folder / "changes.parquet"), "--jobs", "2"]
    replayed = steps.run("chatmend data --replay --jobs 2", replay)
    for name, one in (("chatmend data", line), ("datasets", sets)):
        steps.judge(f"{name} / bare loop, rows/s", bare.seconds / one.seconds, 0.85)
        steps.judge(f"{name} / bare loop, CPU", bare.cpu / one.cpu, 0.85)
    for name, one, two in (("chatmend data", line, line2), ("datasets", sets, sets2)):
        scaling = (one.seconds / two.seconds) / (bare.seconds / bare2.seconds)
        steps.judge(f"{name}, scaling / bare scaling", scaling, 0.9)
    peak = max(done.memory for done in (line, line2, sets, sets2, more, replayed))
    steps.judge("peak memory of a process", peak, MEGABYTES, " MB", most=True)


def train(python: str, folder: Path) -> None:
    """Let TRL's trainers learn from a sample, if the environment has PyTorch."""
    has_torch = [python, "-c", "import torch, accelerate"]
    if subprocess.run(has_torch, capture_output=True, check=False).returncode:
        show("TRL's trainers: skipped, the environment lacks PyTorch or accelerate")
        return
    done = measure([python, "-m", "benchmarks.scale.trl_trains", str(folder / "one"), str(SAMPLE)])
    show(f"TRL: SFTTrainer and DPOTrainer learn from a sample ({done.seconds:.0f} s)")


def main(rows: int, folder: Path, python: str | None) -> None:
    """Make the corpus, measure, and check every repaired row."""
    shutil.rmtree(folder, ignore_errors=True)
    steps = Steps(rows, folder)
    kinds = ("trl", "sharegpt", "dpo")
    commands = [
        [*MODULE, "benchmarks.scale.corpus", str(rows), str(folder), kind] for kind in kinds
    ]
    steps.run("write the corpus", *commands)
    measure_speed(steps)
    checks = [*MODULE, "benchmarks.scale.accepted", str(folder)]
    for name in ("rows", "qwen3", "llama3_1", "mistral_v3_tekken", "gemma3"):
        done = measure([*checks, name, "0"], [*checks, name, "1"])
        show(f"{name}: every row passed ({done.seconds:.0f} s)")
    if python:
        words = [python, "-m", "benchmarks.scale.trl_accepts", str(folder / "one")]
        done = measure([*words, "0"], [*words, "1"])
        show(f"TRL: every row passed ({done.seconds:.0f} s)")
        train(python, folder)
    if steps.failures:
        raise SystemExit(f"below the goal: {', '.join(steps.failures)}")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
