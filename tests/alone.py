"""Runs each test file by itself: none may need another one to have run.

    python -m tests.alone [PART-OF-A-PATH...]

Prints the files that fail, with the end of what pytest says. Exit status 1 if there are any.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = ROOT / "tests" / "langchain" / "standard"
"""These tests have an environment of their own."""
PASSED, NONE_COLLECTED = 0, 5


def run(path: Path) -> tuple[Path, int, str]:
    """A file, pytest's exit status, and the end of its output."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own tests
    return path, done.returncode, done.stdout[-2_000:]


def main(parts: list[str]) -> int:
    """Run the files; 1 if one of them fails alone."""
    paths = [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if ELSEWHERE not in path.parents
    ]
    paths = [path for path in paths if not parts or any(part in str(path) for part in parts)]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, status, output in pool.map(run, paths):
            if status not in (PASSED, NONE_COLLECTED):
                failed += 1
                print(f"{path.relative_to(ROOT)}: pytest exit {status}\n{output}", flush=True)
    print(f"{len(paths)} files, each by itself: {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
