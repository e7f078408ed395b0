"""Runs commands and measures their time and the memory of each of their processes."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL = 0.1
_QUIET = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}
_ANONYMOUS = re.compile(r"RssAnon:\s+(\d+) kB")


@dataclass(frozen=True, slots=True)
class Measured:
    """The cost of a command."""

    seconds: float
    cpu: float
    """CPU seconds of all its processes."""
    memory: float
    """The largest private memory of one process in MB, without the pages of mapped files."""


def measure(*commands: list[str]) -> Measured:
    """Run commands at the same time, and measure them together.

    ``chatmend`` may exit with status 1, because rows are quarantined.

    Raises:
        SystemExit: a command failed.
    """
    before, start = os.times(), time.perf_counter()
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | _QUIET)
        for command in commands
    ]
    peak = _Peak([process.pid for process in running])
    for process, command in zip(running, commands, strict=True):
        if process.wait() not in ((0, 1) if "chatmend" in command else (0,)):
            raise SystemExit(f"failed: {' '.join(command)}")
    seconds, after = time.perf_counter() - start, os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return Measured(seconds, cpu, peak.stop())


class _Peak:
    """Samples the memory of processes and of their descendants."""

    def __init__(self, pids: list[int]) -> None:
        self._pids, self._peak, self._is_running = pids, 0, True
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while self._is_running:
            for pid in self._pids:
                for each in _tree(pid):
                    self._peak = max(self._peak, _memory(each))
            time.sleep(_INTERVAL)

    def stop(self) -> float:
        """Return the largest sample in MB."""
        self._is_running = False
        self._thread.join()
        return self._peak / 1024


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue  # it has ended
        for child in children:
            yield from _tree(int(child))


def _memory(pid: int) -> int:
    try:
        found = _ANONYMOUS.search(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0
