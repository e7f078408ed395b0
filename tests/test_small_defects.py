"""Every promise holds on short conversations with one small defect, or with two in one message."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.scale import examples, sampled
from tests.small_defects import CONVERSATIONS, broken_by, defects
from tests.targets import ALL

FORMATS = sampled(
    [place for place in ALL if place[1] != "other"],
    [
        ("openai_chat", "openai/gpt-4o"),
        ("openai_chat", "anthropic/claude-sonnet-4-5"),
        ("openai_chat", "mistral/mistral-medium-latest"),
        ("openai_responses", "openai/gpt-5"),
        ("openai_responses", "xai/grok-4"),
        ("anthropic_messages", "anthropic/claude-sonnet-4-5"),
        ("bedrock_converse", "bedrock/us.amazon.nova-pro-v1:0"),
        ("gemini_contents", "gemini/gemini-2.5-flash"),
        ("ollama_chat", "ollama/llama3.1"),
    ],
)


@pytest.mark.parametrize(("dialect", "target"), FORMATS)
def test_the_promises_hold_with_one_defect(dialect: str, target: str) -> None:
    for conversation in CONVERSATIONS[dialect]:
        for defect in defects(conversation)[:: examples(5, 1)]:
            assert broken_by(conversation, target, dialect, defect)[1] == [], defect


@pytest.mark.parametrize(("dialect", "target"), FORMATS)
def test_the_promises_hold_with_two_keys_that_do_not_belong_to_a_message(
    dialect: str, target: str
) -> None:
    for conversation in CONVERSATIONS[dialect]:
        keys = [one for one in defects(conversation) if one.added and len(one.path) == 1]
        pairs = [pair for pair in combinations(keys, 2) if pair[0].path == pair[1].path]
        for pair in pairs[:: examples(37, 1)]:
            assert broken_by(conversation, target, dialect, *pair)[1] == [], pair
