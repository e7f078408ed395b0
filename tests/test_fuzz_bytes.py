"""The targets of the byte fuzzer accept their seeds and seeds with random damage, and say when a promise is broken."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.fuzz_bytes import files, texts, values
from tests.fuzz_bytes.mutator import LARGEST, mutate_json
from tests.scale import examples

if TYPE_CHECKING:
    from tests.fuzz_bytes.target import FuzzTarget

TARGETS = (*files.TARGETS, *texts.TARGETS, *values.TARGETS)


def damaged(data: bytes, seed: int) -> bytes:
    """A file with a few other bytes, or cut."""
    rng, out = Random(seed), bytearray(data)
    for _ in range(rng.randint(1, 8)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out[: rng.choice((len(out), rng.randrange(len(out)) + 1))])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_seeds_and_damaged_seeds_are_accepted(target: FuzzTarget) -> None:
    seeds = target.seeds()
    for seed in seeds:
        target.examine(seed)
    for at in range(examples(20, 500)):
        seed = seeds[at % len(seeds)]
        target.examine(mutate_json(seed, LARGEST, at) if target.is_json else damaged(seed, at))


def test_a_changed_json_value_is_json_and_another_one() -> None:
    seed = values.TARGETS[0].seeds()[0]
    changed = [mutate_json(seed, LARGEST, at) for at in range(20)]
    assert all(isinstance(json.loads(text), list) for text in changed)
    assert len(set(changed)) > 15
    assert max(map(len, changed)) <= LARGEST


def test_a_broken_promise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values.chatmend, "replay", lambda *_: [])
    with pytest.raises(AssertionError, match="replay"):
        values.transcript("openai_chat", b'[{"role": "tool", "tool_call_id": "x", "content": "y"}]')
