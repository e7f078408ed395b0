"""The speed table of README: processor time of a repair beside ``json.dumps`` of the same 1,000 messages.

    python -m benchmarks.speed [--write]

Each repair and each ``json.dumps`` are measured in turn, so that both see the same machine; the fastest counts.
Others are measured once: one of them takes seconds. Of transcripts that are broken at random the median is shown.
"""

from __future__ import annotations

import copy
import functools
import gc
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.bench_repair import PEERS, SMALL, TARGETS, broken, transcript
from benchmarks.written import write
from tests.broken.generate import MANY, all_mutations, mutate

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

README = Path(__file__).resolve().parents[1] / "README.md"
TIMES, TIMES_OF_OTHERS = 5, 1
SEEDS = 11
"""Transcripts that are broken at random."""


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


def shaken(seed: int) -> list[Any]:
    """The valid transcript, broken by ``MANY`` of the fuzzer's mutations at once."""
    names = [name for name in all_mutations("openai_chat") if name != "arguments-nested"]  # json.dumps refuses those
    messages = transcript(SMALL)
    for name in Random(seed).sample(names, MANY):  # noqa: S311 - the same ones every time
        messages = mutate(messages, name, seed, "openai_chat")
    return messages


def ours(target: str, kind: list[list[Any]]) -> str:
    """A cell for a repair of ours."""
    return cell([(functools.partial(chatmend.repair, messages, target), messages) for messages in kind])


def theirs(load: Callable[[], Callable[[list[Any]], object]], kind: list[list[Any]]) -> str:
    """A cell for another library; it gets copies, which are not counted."""
    try:
        run: Any = load()
        owns = [copy.deepcopy(messages) for messages in kind]
        prepares = getattr(run, "prepares", False)
        todo = [run(own) if prepares else functools.partial(run, own) for own in owns]
        return cell(list(zip(todo, kind, strict=True)), TIMES_OF_OTHERS)
    except Exception as error:  # noqa: BLE001 - that a peer raises is a result
        return f"raises {type(error).__name__}"


def cell(runs: list[tuple[Callable[[], object], list[Any]]], times: int = TIMES) -> str:
    """``12.3 ms, 1.4 x``: of several transcripts the median."""
    found = sorted((measured(run, messages, times) for run, messages in runs), key=lambda pair: pair[1])
    took, ratio = found[len(found) // 2]
    return f"{took:.1f} ms, {ratio:.1f} x"


def table() -> str:
    """All rows, in Markdown."""
    valid = transcript(SMALL)
    kinds = {
        "valid": [valid],
        f"{MANY} mutations at once": [shaken(seed) for seed in range(SEEDS)],
        "one exchange in four broken": [broken(SMALL, every=4)],
        "every exchange broken": [broken(SMALL)],
    }
    size = len(json.dumps(valid)) // 1000
    rows = [(f"chatmend for {name}", *(ours(target, k) for k in kinds.values())) for name, target in TARGETS.items()]
    rows += [(name, *(theirs(load, kind) for kind in kinds.values())) for name, load in PEERS.items()]
    head = f"| {SMALL:,} messages, {size:,} KB | {' | '.join(kinds)} |\n|---{'|--:' * len(kinds)}|\n"
    note = "\n\n*x*: times `json.dumps` of the same messages."
    return head + "\n".join(f"| {' | '.join(row)} |" for row in rows) + note


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv[1:]:
        write(README, "speed", text)
