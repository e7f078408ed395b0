"""Second passes: what a repair made is repaired again, for every policy, dialect and target, and nothing may change.

python -m tests.fixpoint [COUNT] [TARGET-PART] [FIRST-SEED]

The input is arbitrary JSON: randomly damaged transcripts, and transcripts of another wire format than the one that is
read. Half of them are read without a word about their format. Exit status 1 when a second pass changed anything.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import fields
from random import Random
from typing import Any

import chatmend
from chatmend import Effect, Policy, TranscriptError
from chatmend.dialects import DIALECTS, recognise
from chatmend.policy import CHOICES, NAMES, resolve_policy
from tests.broken import tear, torn
from tests.pasteable import commands
from tests.targets import ALL

CHUNK = 100
CHOSEN = [{name: value} for name, values in CHOICES.items() for value in values[1:]]
ALLOWED = [{"allow": effect} for effect in Effect if effect is not Effect.DROPS]
POLICIES: list[str | dict[str, Any]] = [{}, *NAMES, *CHOSEN, *ALLOWED]
"""The default, those with a name, every choice by itself, every bound."""


def drawn(seed: int) -> tuple[list[Any], str | None, Policy]:
    """Messages, the dialect that is named (None: it has to be recognised), and a policy."""
    rng = Random(f"fixpoint:{seed}")
    written = rng.choice(list(DIALECTS))
    messages = torn(seed, written)
    if rng.random() < 0.5:  # what follows from several defects at once
        with suppress(RecursionError):
            messages = tear(messages, rng, rng.randint(5, 30))
    spoken = rng.choice([None, None, None, written, written, rng.choice(list(DIALECTS))])
    policy = resolve_policy(POLICIES[seed % len(POLICIES)] or {}) or Policy()
    return messages, spoken, policy


def faults(messages: list[Any], target: str, dialect: str | None, policy: Policy) -> list[str]:
    """What a second pass changes, or a replay does not give."""
    try:
        done = chatmend.repair(messages, target, dialect=dialect, policy=policy)
    except TranscriptError:
        return []  # another layout, which is refused by its name
    found = []
    if chatmend.replay(messages, done.changes) != done.messages:
        found.append("replay")
    if dialect is None and not _is_same_format(messages, done.messages, target):
        return found  # what told the format is gone: nobody can know that it was another one
    again = chatmend.repair(
        done.messages, target, dialect=dialect, policy=policy, system=done.system
    )
    if again.messages is not done.messages:
        found.append(
            "a second pass changes "
            + ", ".join(sorted({c.code for c in again.changes if c.applied}))
        )
    return found


def _is_same_format(before: list[Any], after: list[Any], target: str) -> bool:
    """Whether a repair for the target recognises both, before and after, as the same format."""
    provider = chatmend.resolve(target).provider
    return recognise(before, provider) is recognise(after, provider)


def run(target: str, first: int, count: int) -> list[str]:
    """What is wrong for one target, each kind once, with commands that show it."""
    kinds: dict[str, str] = {}
    for seed in range(first, first + count):
        messages, dialect, policy = drawn(seed)
        for fault in faults(messages, target, dialect, policy):
            set_to = {f.name: getattr(policy, f.name) for f in fields(policy)}
            shown = {
                name: value for name, value in set_to.items() if value != getattr(Policy(), name)
            }
            text = f"{target} seed {seed} dialect {dialect} {shown}: {fault}"
            kinds.setdefault(fault, f"{text}\n{commands(messages, target, dialect)}")
    return list(kinds.values())


def main() -> int:
    """Print what is wrong, and how much was tried."""
    given = sys.argv[1:]
    count = int(given[0]) if given else 2_000
    targets = sorted({target for _, target in ALL if len(given) < 2 or given[1] in target})
    first = int(given[2]) if len(given) > 2 else 0
    wrong: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        chunks = [(target, at) for at in range(first, first + count, CHUNK) for target in targets]
        jobs = [
            pool.submit(run, target, at, min(CHUNK, first + count - at)) for target, at in chunks
        ]
        for job in jobs:
            for text in job.result():
                kind = text.partition("\n")[0].rpartition(": ")[2]
                if not wrong[kind]:
                    print(text, flush=True)
                wrong[kind] += 1
    print(
        f"{count:,} transcripts for each of {len(targets)} targets, {len(POLICIES)} policies; wrong: {dict(wrong) or 0}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
