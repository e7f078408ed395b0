"""A user message that a target requires stays where it was sent (TURN003)."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

SYSTEM = {"role": "system", "content": "Do it."}
ANSWER = {"role": "assistant", "content": "Done."}
NEXT = {"role": "user", "content": "Next."}
ADDED = {"role": "user", "content": "[continued]"}
TARGETS = [
    "anthropic/claude-opus-4-8",
    "anthropic/claude-sonnet-4-5",
    "bedrock/us.anthropic.claude-sonnet-4-6",
    "gemini/gemini-2.5-flash",
    "hosted_vllm/Qwen/Qwen3.5-32B",
    "zai/glm-4.6",
]


@pytest.mark.parametrize("target", ["anthropic/claude-opus-4-8", "hosted_vllm/Qwen/Qwen3.5-32B"])
@pytest.mark.parametrize("history", [[ANSWER, NEXT], [SYSTEM, NEXT, ANSWER, NEXT]])
def test_a_history_with_a_user_message_is_unchanged(history: Any, target: str) -> None:
    assert chatmend.repair(history, target).messages is history


@pytest.mark.parametrize("history", [[SYSTEM], [SYSTEM, ANSWER, NEXT]])
def test_a_target_that_requires_no_user_message_gets_none(history: Any) -> None:
    assert chatmend.repair(history, "openai/gpt-4o").messages is history


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("system", ["Do it.", ""])
def test_a_system_prompt_that_was_sent_alone_keeps_its_user_message(
    target: str, system: str
) -> None:
    first = [{"role": "system", "content": system}]
    sent = chatmend.repair(first, target).messages
    assert sent[-1] == ADDED
    later = chatmend.repair([*first, ANSWER, NEXT], target).messages
    assert later == [*sent, ANSWER, NEXT]
    assert chatmend.repair(later, target).messages is later
    assert chatmend.repair([*sent, ANSWER, NEXT], target).messages == later
