"""Runs every fuzzing target for some seconds and prints a table; exit status 1 if one of them failed.

python -m tests.fuzz_bytes.every SECONDS [TARGET...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COMMAND = [sys.executable, "-m", "tests.fuzz_bytes"]
_LAST_LINES = 25


def run(name: str, seconds: int) -> tuple[str, bool]:
    """Fuzz one target; the row of the table, and whether nothing was found."""
    command = [*COMMAND, name, f"-max_total_time={seconds}", "-print_final_stats=1"]
    done = subprocess.run(  # noqa: S603 - our own module
        [*command, f"-artifact_prefix=build/fuzz/failed-{name}-"],
        capture_output=True,
        text=True,
        check=False,
    )
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    row = f"{name:32} {int(tried[1]) if tried else 0:>10,} inputs, {covered[-1] if covered else 0:>6} branches"
    if done.returncode == 0:
        return f"{row}  nothing found", True
    shown = "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
    return f"{row}  FAILED\n{shown}\ntry it again: python -m tests.fuzz_bytes {name} FILE", False


def main() -> int:
    """The table."""
    seconds, *names = sys.argv[1:]
    listed = subprocess.run([*COMMAND, "--list"], capture_output=True, text=True, check=True)  # noqa: S603
    every = listed.stdout.split()
    if unknown := set(names) - set(every):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    is_clean = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, is_good in pool.map(lambda name: run(name, int(seconds)), names or every):
            print(row, flush=True)
            is_clean = is_clean and is_good
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
