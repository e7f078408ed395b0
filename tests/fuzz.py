"""Broken transcripts by seed, for every target: prints what was refused, lost, moved, and how often each rule fired.

python -m tests.fuzz [COUNT] [TARGET-PART] [FIRST-SEED]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import chatmend
from tests.broken import broken, mutation_names
from tests.promises import broken_promises, repaired
from tests.targets import ALL


def run(dialect: str, target: str, seeds: range) -> tuple[Counter[str], Counter[str], list[str]]:
    """For one target: broken promises by number, rules by name, and the first example of each kind."""
    faults: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for seed in seeds:
        messages = broken(seed, dialect)
        try:
            found = list(broken_promises(messages, target, dialect))
            fired.update(change.rule for change in repaired(messages, target, dialect).changes)
        except Exception as error:  # noqa: BLE001 - counted, not hidden
            found = [f"0 exception: {type(error).__name__}: {error}"[:200]]
        for fault in found:
            kind = fault.split(":")[0]
            faults[kind] += 1
            key = fault[:70]
            examples.setdefault(key, f"seed {seed} {mutation_names(seed, dialect)}: {fault}")
    return faults, fired, list(examples.values())


def main() -> int:
    """The table; exit status 1 when a promise was broken."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    total: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for dialect, target in ALL:
        if part and part not in f"{dialect} {target}":
            continue
        started = time.perf_counter()
        faults, fired, examples = run(dialect, target, range(first, first + count))
        total += faults
        rules += fired
        took = time.perf_counter() - started
        print(f"{dialect:19} {target:52} {count:6} {took:6.0f}s  {dict(faults) or 'all promises held'}", flush=True)
        for example in examples[:6]:
            print("      ", example[:420])
    for name, number in rules.most_common():
        print(f"{number:8} {name}")
    print(f"chatmend {len(chatmend.__all__)} names; broken promises: {dict(total) or 0}")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
