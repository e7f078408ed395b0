"""The processes that share the work of a command: started once, where there is much to do."""

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

    from chatmend.cli.conversation import Order
    from chatmend.cli.sources import Source

MUCH = 32 << 20
"""Bytes from which more processes are worth their start: in one file of lines, or in many small files together."""


def is_big(source: Source) -> bool:
    """Whether a file is worth all processes by itself."""
    return source.has_lines and source.size >= MUCH


@contextmanager
def crew(sources: list[Source], order: Order) -> Iterator[Executor | None]:
    """The processes for these files; None where one does as well. To be entered before a thread is started."""
    small = sum(source.size for source in sources if not is_big(source))
    if processes(order) == 1 or (small < MUCH and not any(map(is_big, sources))):
        yield None
        return
    with ProcessPoolExecutor(processes(order), get_context(_way())) as pool:
        pool.submit(int).result()  # forked ones are all there now, before a progress bar runs in a thread
        yield pool


def _way() -> str:
    """Forked processes need no start of their own, and share memory; with threads about, none may be forked."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def processes(order: Order) -> int:
    """How many processes are to work."""
    if order.jobs:
        return order.jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
