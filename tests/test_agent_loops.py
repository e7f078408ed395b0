"""Agent loops with hosted tools: valid ones stay, damaged ones are accepted after the repair.

The damages are cut streams, interruptions, compaction in the middle of an exchange, and items that
are stored twice, at another place or not at all.
"""

from __future__ import annotations

import pytest

import chatmend
from tests.broken.agent_loops import damaged, loop
from tests.promises import broken_promises
from tests.scale import examples

SEEDS = range(examples(6, 2_000))
BLOCKS, ITEMS = "anthropic_messages", "openai_responses"
TARGETS = [
    (BLOCKS, "anthropic/claude-sonnet-4-5"),
    (BLOCKS, "anthropic/claude-opus-4-8"),
    (ITEMS, "openai/gpt-5"),
    (ITEMS, "azure/gpt-4.1"),
]
ELSEWHERE = [
    (BLOCKS, "vertex_ai/claude-opus-4-6"),
    (BLOCKS, "bedrock/invoke/anthropic.claude-opus-4-6"),
]
"""Hosts that do not run all of the tools."""


@pytest.mark.parametrize(("dialect", "target"), TARGETS)
def test_a_valid_loop_is_unchanged(dialect: str, target: str) -> None:
    for seed in SEEDS:
        for stored in (False, True):
            messages = loop(seed, dialect, stored=stored)
            assert chatmend.repair(messages, target, dialect=dialect).messages is messages, seed


@pytest.mark.parametrize(("dialect", "target"), TARGETS + ELSEWHERE)
def test_a_damaged_loop_keeps_all_promises(dialect: str, target: str) -> None:
    for seed in SEEDS:
        broken = list(broken_promises(damaged(seed, dialect), target, dialect))
        assert not broken, (seed, broken)
