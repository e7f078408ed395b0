"""The speed table of README: processor time of a repair beside ``json.dumps`` of the same 1,000 messages.

    python -m benchmarks.speed [--write]

Each repair and each ``json.dumps`` are measured in turn, so that both see the same machine; the fastest counts.
Others are measured once: one of them takes seconds.
"""

from __future__ import annotations

import copy
import functools
import gc
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bench_repair import PEERS, SMALL, TARGETS, broken, transcript
from benchmarks.written import write

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

README = Path(__file__).resolve().parents[1] / "README.md"
TIMES, TIMES_OF_OTHERS = 5, 1


def spent(run: Callable[[], object]) -> float:
    """Seconds of processor time."""
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(run: Callable[[], object], messages: list[Any], times: int) -> tuple[float, float]:
    """Milliseconds, and times ``json.dumps``."""
    pairs = [(spent(run), spent(functools.partial(json.dumps, messages))) for _ in range(times)]
    took = min(first for first, _ in pairs)
    return took * 1e3, took / min(second for _, second in pairs)


def ours(target: str, messages: list[Any]) -> str:
    """A cell for a repair of ours."""
    return cell(functools.partial(chatmend.repair, messages, target), messages)


def theirs(load: Callable[[], Callable[[list[Any]], object]], messages: list[Any]) -> str:
    """A cell for another library; it gets a copy, which is not counted."""
    try:
        run: Any = load()
        own = copy.deepcopy(messages)
        todo = run(own) if getattr(run, "prepares", False) else functools.partial(run, own)
        return cell(todo, messages, TIMES_OF_OTHERS)
    except Exception as error:  # noqa: BLE001 - that a peer raises is a result
        return f"raises {type(error).__name__}"


def cell(run: Callable[[], object], messages: list[Any], times: int = TIMES) -> str:
    """``12.3 ms, 1.4 x``."""
    took, ratio = measured(run, messages, times)
    return f"{took:.1f} ms, {ratio:.1f} x"


def table() -> str:
    """All rows, in Markdown."""
    kinds = (transcript(SMALL), broken(SMALL, every=4), broken(SMALL))
    size = len(json.dumps(kinds[0])) // 1000
    rows = [(f"chatmend for {name}", *(ours(target, kind) for kind in kinds)) for name, target in TARGETS.items()]
    rows += [(name, *(theirs(load, kind) for kind in kinds)) for name, load in PEERS.items()]
    head = f"| {SMALL:,} messages, {size:,} KB | valid | one exchange in four broken | every exchange broken |\n"
    head += "|---|--:|--:|--:|\n"
    return (
        head + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n\n*x*: times `json.dumps` of the same messages."
    )


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv[1:]:
        write(README, "speed", text)
