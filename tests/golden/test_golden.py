"""A release that changes what is sent says so: repaired bytes are pinned."""

from __future__ import annotations

import pytest

from tests.golden.pinned import TARGETS, Golden, bytes_of, goldens

GOLDENS = goldens()


def test_there_are_transcripts_of_every_dialect() -> None:
    assert {golden.dialect for golden in GOLDENS} == set(TARGETS)
    assert len(GOLDENS) > 30


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.path.stem)
def test_the_repaired_bytes_are_what_they_were(golden: Golden) -> None:
    for target in TARGETS[golden.dialect]:
        pinned = bytes_of(golden.repaired.get(target, golden.messages))
        assert bytes_of(golden.now(target)) == pinned, (
            f"{golden.path.stem} for {target} is sent other bytes than before. If that is meant: run 'make golden', "
            "and say it in CHANGELOG.md under 'Repaired output'"
        )
