"""Worker processes that share the work of a command if there is enough of it."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from chatmend.cli.conversation import RunSettings
    from chatmend.cli.sources import InputFile

MIN_PARALLEL_BYTES = 32 << 20
"""Size of one JSONL file, or of all other files together, from which workers are started."""


def is_big(source: InputFile) -> bool:
    """Whether all processes share the lines of this file."""
    return source.has_lines and source.size >= MIN_PARALLEL_BYTES


@contextmanager
def worker_pool(sources: list[InputFile], settings: RunSettings) -> Iterator[Executor | None]:
    """Start worker processes for the files; yields None if one process is enough.

    Enter this context before any thread is started.
    """
    small = sum(source.size for source in sources if not is_big(source))
    if worker_count(settings) == 1 or (
        small < MIN_PARALLEL_BYTES and not any(map(is_big, sources))
    ):
        yield None
        return
    with ProcessPoolExecutor(worker_count(settings), get_context(_start_method())) as pool:
        # The first task forks all workers, before the progress bar starts a thread.
        pool.submit(int).result()
        yield pool


def _start_method() -> str:
    """Return ``fork``, which is faster and shares memory, unless other threads are running."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def worker_count(settings: RunSettings) -> int:
    """Return the number of processes to use."""
    return settings.jobs or available_processors()


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
