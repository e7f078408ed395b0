"""Prints what repair does to recorded requests that real providers accepted: by provider, code and effect.

The wire format is never said, so it has to be recognised; the messages alone are repaired as well as the whole body.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import chatmend
from tests.corpus import CUT, messages_in, rows, target_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def repairs(row: dict[str, Any]) -> Iterator[tuple[str, tuple[chatmend.Change, ...], bool]]:
    """What was repaired, the changes, and whether it is the same object: the body, and its messages alone."""
    if row["id"] in CUT:
        return
    done = chatmend.repair_request(row["body"], target_of(row))
    yield "body", done.changes, done.body is row["body"]
    if isinstance(messages := messages_in(row["body"]), list):
        stored = bool(row["body"].get("previous_response_id"))
        alone = chatmend.repair(messages, target_of(row), continues=stored)
        yield "messages", alone.changes, alone.messages is messages


def main() -> int:
    """The table; exit status 1 when anything but a reshaping was done."""
    table: Counter[tuple[str, str, str]] = Counter()
    same: Counter[str] = Counter()
    harmed = 0
    for row in rows("requests_accepted"):
        for name, changes, is_same in repairs(row):
            same[f"{row['provider']} {name} {'same object' if is_same else 'changed'}"] += 1
            for change in changes:
                table[row["provider"], f"{change.code} {change.rule}", change.effect.name] += 1
                harmed += change.effect > chatmend.Effect.RESHAPES
                if "-v" in sys.argv:
                    shown = (str(change.before)[:150], str(change.after)[:150])
                    print(row["id"], name, target_of(row), change.code, change.why, *shown)
    for key, count in sorted(same.items()):
        print(f"{count:6} {key}")
    for (provider, code, effect), count in sorted(table.items()):
        print(f"{count:6} {provider:16} {effect:9} {code}")
    print(f"{sum(same.values())} repairs, {harmed} changes beyond reshaping")
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
