"""Prints what repair does to recorded requests that real providers accepted: by provider, code and effect."""

from __future__ import annotations

import sys
from collections import Counter

import chatmend
from tests.corpus import DIALECTS, spoken, target_of


def main() -> int:
    """The table; exit status 1 when anything but a reshaping was done."""
    table: Counter[tuple[str, str, str]] = Counter()
    same: Counter[str] = Counter()
    harmed = 0
    for row in spoken("requests_accepted"):
        done = chatmend.repair_request(row["body"], target_of(row), dialect=DIALECTS[row["format"]])
        same[row["provider"] + (" same object" if done.body is row["body"] else " changed")] += 1
        for change in done.changes:
            table[row["provider"], f"{change.code} {change.rule}", change.effect.name] += 1
            if change.effect > chatmend.Effect.RESHAPES:
                harmed += 1
            if "-v" in sys.argv:
                print(
                    row["id"],
                    target_of(row),
                    change.code,
                    change.why,
                    str(change.before)[:150],
                    str(change.after)[:150],
                )
    for key, count in sorted(same.items()):
        print(f"{count:6} {key}")
    for (provider, code, effect), count in sorted(table.items()):
        print(f"{count:6} {provider:16} {effect:9} {code}")
    print(f"{sum(same.values())} requests, {harmed} changes beyond reshaping")
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
