"""Twins: clean transcripts in which one text or key is replaced by another.

A twin usually has the same structure as its original. A rule that judges values without declaring which ones runs only
once per structure, so it misses the defect in the twin.

    python -m tests.twins [SHARE]        # tests a share of the twins for every target; also: make twins

Places that are alike are tested once per target: the same key, in messages of the same keys and types with neighbours of
the same roles. First it prints, for each rule that judges values, whether its twin is missed when the judges are removed.
"""

from __future__ import annotations

import copy
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import chatmend
from tests.broken import broken
from tests.every_rule import account, every_rule, forget
from tests.targets import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS: tuple[Any, ...] = (
    "", " ", "\n", "x ", "\ud800", "[continued]", "No result was recorded for this tool call.", "{", "[1, 2]", "é" * 3,
    "a b/c.d", "x" * 70, "rs_1", "call_1", "https://example.org/x.png", "data:image/png;base64,AAAA", None, 7, [], {},
)  # fmt: skip
"""Replacements for a text."""
KEYS = ("", "cache_control", "x_1", "\ud800", "name", "_own", "text")
"""Replacements for a key."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the path of each text and key in a value, and whether it is a key."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield (*path, key), True
            yield from places(held, (*path, key))
    elif isinstance(value, list):
        for at, held in enumerate(value):
            yield from places(held, (*path, at))
    elif isinstance(value, str):
        yield path, False


def twin(messages: list[Any], path: tuple[Any, ...], becomes: Any, *, is_key: bool) -> list[Any]:
    """Return a copy of the transcript with the text or key at ``path`` replaced."""
    out = copy.deepcopy(messages)
    holder: Any = out
    for step in path[:-1]:
        holder = holder[step]
    if not is_key:
        holder[path[-1]] = becomes
        return out
    pairs = [(becomes if key == path[-1] else key, held) for key, held in holder.items()]
    holder.clear()
    holder.update(pairs)
    return out


def skeleton(value: Any, key: object = None) -> Any:
    """Return the keys and types of a value, its roles and types, and whether its texts are empty."""
    if isinstance(value, dict):
        return tuple((inner, skeleton(held, inner)) for inner, held in value.items())
    if isinstance(value, list):
        return ("list", *map(skeleton, value))
    return value if key in ("role", "type") else (type(value).__name__, not value)


def neighbourhood(messages: list[Any], at: int) -> Any:
    """Return what a message and its place are like: its skeleton and the roles around it."""
    around = [messages[near] for near in (at - 1, at + 1) if 0 <= near < len(messages)]
    roles = [message.get("role") for message in around if isinstance(message, dict)]
    return skeleton(messages[at]), str(roles), not at, at == len(messages) - 1


def twins(
    messages: list[Any], rng: Random, share: float = 1.0, seen: set[Any] | None = None
) -> Iterator[list[Any]]:
    """Yield the twins of a transcript, or a random share of them.

    ``seen`` collects the places that were tested; places that are alike are skipped.
    """
    alike = [neighbourhood(messages, at) for at in range(len(messages))]
    for path, is_key in places(messages):
        place = (alike[path[0]], path[1:], is_key)
        if seen is not None and place in seen:
            continue
        if seen is not None:
            seen.add(place)
        for becomes in KEYS if is_key else TEXTS:
            if rng.random() < share:
                yield twin(messages, path, becomes, is_key=is_key)


def originals(dialect: str, target: str, seeds: range) -> Iterator[list[Any]]:
    """Yield short clean transcripts of many structures, made by repairing broken ones."""
    for seed in seeds:
        messages = chatmend.repair(broken(seed, dialect)[:9], target, dialect=dialect).messages
        yield chatmend.repair(messages, target, dialect=dialect).messages


def unlike(
    dialect: str, target: str, share: float, seed: int = 0, seeds: range = range(40)
) -> Iterator[tuple[list[Any], list[str], list[str]]]:
    """Yield twins whose repair differs from the repair by every rule, with the rules that changed them and those expected."""
    rng, seen = Random(seed), set[Any]()
    for messages in originals(dialect, target, seeds):
        forget()
        for _ in range(3):  # new structure, then learnt, then from the cache
            chatmend.repair(messages, target, dialect=dialect)
        for changed in twins(messages, rng, share, seen):
            done = [chatmend.repair(changed, target, dialect=dialect) for _ in range(2)]
            with every_rule():
                all_said = chatmend.repair(changed, target, dialect=dialect)
            for one in done:
                if account(one) != account(all_said):
                    yield changed, [c.rule for c in one.changes], [c.rule for c in all_said.changes]
                    break


def rules_without_twin() -> int:
    """Print for each rule that judges values whether its twin is missed without its judges; return how many are not."""
    from tests.test_scan import TWINS, is_missed_without_judges  # noqa: PLC0415 - it imports this module

    wrong = 0
    for name in TWINS:
        is_missed = is_missed_without_judges(name)
        wrong += not is_missed
        print(
            f"{name:32} {'fails' if is_missed else 'DOES NOT FAIL'} without its judges", flush=True
        )
    return wrong


def main() -> int:
    """Test a fifth of the twins for every target, or the share given on the command line."""
    found, share = rules_without_twin(), float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    work = partial(wrong_twins, share=share)
    with ProcessPoolExecutor() as pool:
        found += sum(map(report, ALL, pool.map(work, ALL)))
    return 1 if found else 0


def wrong_twins(place: tuple[str, str], share: float) -> list[Any]:
    """Return the twins for one target that are repaired in another way than by every rule."""
    return list(unlike(*place, share))


def report(place: tuple[str, str], wrong: list[Any]) -> int:
    """Print the number of wrong twins for one target, and the first of them; return the number."""
    dialect, target = place
    print(
        f"{dialect:20} {target:44} {len(wrong)} twins repaired in another way than by every rule",
        flush=True,
    )
    for changed, did, should in wrong[:3]:
        print(f"    {did} instead of {should}: {changed}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
