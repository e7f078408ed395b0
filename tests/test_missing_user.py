"""A user message that a target requires (TURN003): who gets one, and who gets none."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

SYSTEM = {"role": "system", "content": "Do it."}
GREETING = {"role": "assistant", "content": "Hello, how can I help?"}
NEXT = {"role": "user", "content": "Next."}
ADDED = {"role": "user", "content": "[continued]"}


@pytest.mark.parametrize("target", ["anthropic/claude-opus-4-8", "hosted_vllm/Qwen/Qwen3.5-32B"])
@pytest.mark.parametrize(
    "history", [[GREETING, NEXT], [SYSTEM, GREETING, NEXT], [SYSTEM, NEXT, GREETING, NEXT]]
)
def test_a_history_with_a_user_message_is_unchanged(history: Any, target: str) -> None:
    assert chatmend.repair(history, target).messages is history


@pytest.mark.parametrize("history", [[SYSTEM], [SYSTEM, GREETING, NEXT]])
def test_a_target_that_requires_no_user_message_gets_none(history: Any) -> None:
    assert chatmend.repair(history, "openai/gpt-4o").messages is history


@pytest.mark.parametrize(
    "target", ["anthropic/claude-opus-4-8", "hosted_vllm/Qwen/Qwen3.5-32B", "zai/glm-4.6"]
)
@pytest.mark.parametrize("history", [[SYSTEM], [SYSTEM, GREETING]])
def test_a_request_without_one_gets_one_at_its_end(history: Any, target: str) -> None:
    done = chatmend.repair(history, target)
    assert done.messages == [*history, ADDED]
    later = [*done.messages, GREETING, NEXT]
    assert chatmend.repair(later, target).messages is later
