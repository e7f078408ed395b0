"""Broken transcripts by seed, for every target: what was refused, lost or moved, and how often each rule fired.

python -m tests.fuzz [COUNT] [TARGET-PART] [FIRST-SEED] [--torn | --foreign]

Runs on every core. The first table has a row for each target, with the number of broken promises. The second table has
a row for each rule: how often it fired on each target, ``.`` where its limit does not apply. Exit status 1 if a promise
was broken, or if, in a run of 2,000 transcripts or more, a rule fired on a target, but less than 200 times in 20,000.

The transcripts have realistic defects. With ``--torn`` they are damaged at random; with ``--foreign`` they also have
parts and keys of other providers and frameworks. Then the second table is not printed.

A longer conversation must begin with what was sent before. In one transcript of ten this is checked wherever a request
was sent, in the others at one of these places, which the seed selects.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from random import Random
from typing import Any

from chatmend.rules import RULES
from tests.broken import broken, mutation_names, torn
from tests.foreign_parts import judged, mixed
from tests.pasteable import commands
from tests.promises import broken_promises, repaired
from tests.targets import ALL

Place = tuple[str, str]
CHUNK = 50
KINDS = {"broken": broken, "--torn": torn, "--foreign": mixed}
"""How transcripts are made: by default, and with an option."""
UNJUDGED = "other"
"""The target that changes nothing and promises nothing: of it only "never an exception" is asked."""


def _collect_rarely() -> None:
    """Let garbage collection run rarely: each run visits every object of the validators."""
    gc.set_threshold(100_000, 50, 1_000)


@lru_cache(maxsize=8 * CHUNK)
def made(seed: int, dialect: str, kind: str) -> list[Any]:
    """A broken transcript, made once for all targets; that a repair does not change it is one of the promises."""
    return KINDS[kind](seed, dialect)


def run(
    place: Place, first: int, count: int, *, kind: str = "broken"
) -> tuple[Place, Counter[str], Counter[str], list[str]]:
    """For one target: broken promises by number, rules by name, and the first example of each kind."""
    dialect, target = place
    faults: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for seed in range(first, first + count):
        messages = made(seed, dialect, kind)
        how = "torn" if kind == "--torn" else str(mutation_names(seed, dialect))
        try:
            found: list[str] = []
            if target == UNJUDGED:
                done = repaired(messages, target, dialect)
                fired.update({change.rule for change in done.changes})
            else:
                found += broken_promises(
                    messages,
                    target,
                    dialect,
                    torn=kind == "--torn",
                    fired=fired,
                    draws=Random(f"{seed} {target}"),
                )
            if kind == "--foreign":
                found = judged(found, target, dialect)
        except Exception as error:  # noqa: BLE001 - counted, not hidden
            found = [f"0 exception: {type(error).__name__}: {error}"[:200]]
        for fault in found:
            faults[fault.split(":")[0]] += 1
            if fault[:70] not in examples:
                examples[fault[:70]] = (
                    f"seed {seed} {how}: {fault[:600]}\n{commands(messages, target, dialect)}"
                )
    return place, faults, fired, list(examples.values())


def main() -> int:
    """The tables."""
    given = [word for word in sys.argv[1:] if word not in KINDS]
    kind = next((word for word in sys.argv[1:] if word in KINDS), "broken")
    count = int(given[0]) if given else 200
    part = given[1] if len(given) > 1 else ""
    first = int(given[2]) if len(given) > 2 else 0
    places = [place for place in ALL if part in " ".join(place)]
    faults: dict[Place, Counter[str]] = {place: Counter() for place in places}
    fired: dict[Place, Counter[str]] = {place: Counter() for place in places}
    started = time.monotonic()
    work = list(product(range(first, first + count, CHUNK), places))
    with ProcessPoolExecutor(os.cpu_count(), initializer=_collect_rarely) as pool:
        jobs = [
            pool.submit(run, place, at, min(CHUNK, first + count - at), kind=kind)
            for at, place in work
        ]
        for done, job in enumerate(jobs, 1):
            place, wrong, rules, examples = job.result()
            faults[place] += wrong
            fired[place] += rules
            for example in examples:
                print(*place, example, flush=True)
            if done % (20 * len(places)) == 0:
                print(
                    f"{done // len(places) * CHUNK:,} a target, {time.monotonic() - started:.0f} s",
                    flush=True,
                )
    for place in places:
        print(f"{' '.join(place):64} {count:6}  {dict(faults[place]) or 'all promises held'}")
    rare = [] if kind != "broken" else _rules(fired, count)
    total: Counter[str] = sum(faults.values(), Counter())
    print(
        f"{count:,} transcripts for each of {len(places)} targets; broken promises: {dict(total) or 0}"
    )
    return 1 if total or (rare and count >= 2_000) else 0


def _rules(fired: dict[Place, Counter[str]], count: int) -> list[str]:
    """Print how often each rule fired on each target; the pairs that fired too rarely."""
    rare = []
    for number, place in enumerate(fired):
        print(f"{number:4} {' '.join(place)}")
    print(f"{'':26}" + "".join(f"{number:6}" for number in range(len(fired))))
    for name in dict.fromkeys(rule.name for rule in RULES):
        row = [fired[place][name] for place in fired]
        print(f"{name:26}" + "".join(f"{number or '.':>6}" for number in row))
        low = [
            place
            for place, number in zip(fired, row, strict=True)
            if 0 < number * 20_000 < 200 * count
        ]
        rare += [f"{name} on {' '.join(place)}" for place in low]
    for pair in rare:
        print(f"fired less than 200 times in 20,000: {pair}")
    return rare


if __name__ == "__main__":
    sys.exit(main())
