"""Agent loops with hosted tools: valid ones stay, damaged ones are accepted after the repair."""

from __future__ import annotations

import os

import pytest

import chatmend
from tests.broken.agent_loops import damaged, loop
from tests.promises import broken_promises

NIGHTLY = "CHATMEND_NIGHTLY" in os.environ
SEEDS = range(2_000 if NIGHTLY else 60)
BLOCKS = "anthropic_messages"
CLAUDE = ("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-8", "vertex_ai/claude-opus-4-6")


@pytest.mark.parametrize("target", CLAUDE)
def test_a_valid_loop_is_unchanged(target: str) -> None:
    for seed in SEEDS:
        messages = loop(seed, BLOCKS)
        assert chatmend.repair(messages, target, dialect=BLOCKS).messages is messages, seed


@pytest.mark.parametrize("target", CLAUDE)
def test_a_damaged_loop_keeps_all_promises(target: str) -> None:
    for seed in SEEDS:
        broken = list(broken_promises(damaged(seed, BLOCKS), target, BLOCKS))
        assert not broken, (seed, broken)
