"""Prints the speed table of docs/comparison.md: CPU time of a repair, compared with ``json.dumps``.

    python -m benchmarks.speed [--write]

Each repair alternates with ``json.dumps`` of the same 1,000 messages, so that load from other
processes affects both; the fastest run counts. Other libraries are measured once, because one of
them takes seconds. For randomly broken transcripts the table shows the median.
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
from benchmarks.page_sections import replace_section
from tests.broken.generate import MANY, all_mutations, mutate

import chatmend

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).resolve().parents[1] / "docs" / "comparison.md"
TIMES, TIMES_OF_OTHERS = 5, 1
SEEDS = 11
"""Number of randomly broken transcripts."""


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the CPU time of a run in seconds."""
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def cpu_time_and_ratio(
    run: Callable[[], object], messages: list[Any], times: int
) -> tuple[float, float]:
    """Return the CPU time in milliseconds, and its ratio to ``json.dumps``."""
    pairs = [
        (cpu_seconds(run), cpu_seconds(functools.partial(json.dumps, messages)))
        for _ in range(times)
    ]
    took = min(first for first, _ in pairs)
    return took * 1e3, took / min(second for _, second in pairs)


def mutated(seed: int) -> list[Any]:
    """Return the valid transcript with ``MANY`` of the fuzzer's mutations."""
    names = [
        name
        for name in all_mutations("openai_chat")
        if name != "arguments-nested"  # json.dumps fails on it
    ]
    messages = transcript(SMALL)
    for name in Random(seed).sample(names, MANY):  # noqa: S311 - the same in every run
        messages = mutate(messages, name, seed, "openai_chat")
    return messages


def chatmend_cell(target: str, kind: list[list[Any]]) -> str:
    """Return a cell for chatmend's repair."""
    return cell(
        [(functools.partial(chatmend.repair, messages, target), messages) for messages in kind]
    )


def peer_cell(load: Callable[[], Callable[[list[Any]], object]], kind: list[list[Any]]) -> str:
    """Return a cell for another library; copying the messages is not measured."""
    try:
        run: Any = load()
        copies = [copy.deepcopy(messages) for messages in kind]
        prepares = getattr(run, "prepares", False)
        todo = [
            run(messages) if prepares else functools.partial(run, messages) for messages in copies
        ]
        return cell(list(zip(todo, kind, strict=True)), TIMES_OF_OTHERS)
    except Exception as error:  # noqa: BLE001 - an error of another library is a result
        return f"raises {type(error).__name__}"


def cell(runs: list[tuple[Callable[[], object], list[Any]]], times: int = TIMES) -> str:
    """Return a cell such as ``12.3 ms, 1.4 x``: the median of several transcripts."""
    found = sorted(
        (cpu_time_and_ratio(run, messages, times) for run, messages in runs),
        key=lambda pair: pair[1],
    )
    took, ratio = found[len(found) // 2]
    return f"{took:.1f} ms, {ratio:.1f} x"


def table() -> str:
    """Return the table in Markdown."""
    valid = transcript(SMALL)
    kinds = {
        "valid": [valid],
        f"{MANY} mutations at once": [mutated(seed) for seed in range(SEEDS)],
        "one exchange in four broken": [broken(SMALL, every=4)],
        "every exchange broken": [broken(SMALL)],
    }
    size = len(json.dumps(valid)) // 1000
    rows = [
        (f"chatmend for {name}", *(chatmend_cell(target, k) for k in kinds.values()))
        for name, target in TARGETS.items()
    ]
    rows += [
        (name, *(peer_cell(load, kind) for kind in kinds.values())) for name, load in PEERS.items()
    ]
    head = (
        f"| {SMALL:,} messages, {size:,} KB | {' | '.join(kinds)} |\n|---{'|--:' * len(kinds)}|\n"
    )
    note = "\n\n*x*: times `json.dumps` of the same messages."
    return head + "\n".join(f"| {' | '.join(row)} |" for row in rows) + note


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv[1:]:
        replace_section(PAGE, "speed", text)
