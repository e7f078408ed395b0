"""Twins: a transcript that every rule is content with, one text or key of it replaced by another.

A twin mostly has the structure of what it came from. A rule that judges values and does not say which is then asked of
the structure alone, once, and what is wrong in the twin goes unnoticed.

    python -m tests.twins [SHARE]        # some of them, for every target: make twins
"""

from __future__ import annotations

import copy
import sys
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
"""What stands in the place of a text."""
KEYS = ("", "cache_control", "x_1", "\ud800", "name", "_own", "text")
"""What stands in the place of a key."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Where texts and keys stand in a value: the way there, and whether it is a key."""
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
    """The transcript with something else in one place."""
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


def twins(messages: list[Any], rng: Random, share: float = 1.0) -> Iterator[list[Any]]:
    """Twins of a transcript, or a share of them."""
    for path, is_key in places(messages):
        for becomes in KEYS if is_key else TEXTS:
            if rng.random() < share:
                yield twin(messages, path, becomes, is_key=is_key)


def originals(dialect: str, target: str) -> Iterator[list[Any]]:
    """Short transcripts that are fine for a target, of many structures: what repairs have made."""
    for seed in range(40):
        messages = chatmend.repair(broken(seed, dialect)[:9], target, dialect=dialect).messages
        yield chatmend.repair(messages, target, dialect=dialect).messages


def unlike(dialect: str, target: str, share: float, seed: int = 0) -> Iterator[tuple[list[Any], list[str], list[str]]]:
    """Twins that are repaired in another way than by every rule: with the rules that changed them, and should have."""
    rng = Random(seed)
    for messages in originals(dialect, target):
        forget()
        for _ in range(3):  # met, learnt, known
            chatmend.repair(messages, target, dialect=dialect)
        for changed in twins(messages, rng, share):
            done = [chatmend.repair(changed, target, dialect=dialect) for _ in range(2)]
            with every_rule():
                all_said = chatmend.repair(changed, target, dialect=dialect)
            for one in done:
                if account(one) != account(all_said):
                    yield changed, [c.rule for c in one.changes], [c.rule for c in all_said.changes]
                    break


def main() -> int:
    """Twins for every target: a fifth of them, or the share that is named."""
    found, share = 0, float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    for dialect, target in ALL:
        wrong = list(unlike(dialect, target, share))
        print(f"{dialect:20} {target:44} {len(wrong)} twins repaired in another way than by every rule", flush=True)
        for changed, did, should in wrong[:3]:
            print(f"    {did} instead of {should}: {changed}")
        found += len(wrong)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
