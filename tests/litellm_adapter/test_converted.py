"""Responses items that LiteLLM converts from Anthropic messages.

LiteLLM writes the text of a message after its calls; it must not be taken for a later answer.
"""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.litellm.conversion import target_through_litellm

QUESTION = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "How warm is it?"}],
}
CALL = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
TEXT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "I look."}],
}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "18"}


def items(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [QUESTION, *entries]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "azure/gpt-5-mini", "openai_compatible/qwen3"])
@pytest.mark.parametrize(
    "behind", [[], [QUESTION], [TEXT, QUESTION]], ids=["the end", "a user", "an answer"]
)
def test_text_between_a_call_and_its_result_is_unchanged(
    target: str, behind: list[dict[str, Any]]
) -> None:
    messages = items(CALL, TEXT, RESULT, *behind)
    assert (
        chatmend.repair(
            messages, target_through_litellm(target), dialect="openai_responses"
        ).messages
        is messages
    )


def test_text_is_moved_before_the_call_for_a_target_that_refuses_it_there() -> None:
    done = chatmend.repair(
        items(CALL, TEXT, RESULT),
        target_through_litellm("deepseek/deepseek-chat"),
        dialect="openai_responses",
    )
    assert done.messages == items(TEXT, CALL, RESULT)


def test_without_a_result_the_text_starts_a_new_turn() -> None:
    done = chatmend.repair(
        items(CALL, TEXT, QUESTION),
        target_through_litellm("openai/gpt-4o"),
        dialect="openai_responses",
    )
    assert [item["type"] for item in done.messages] == [
        "message", "function_call", "function_call_output", "message", "message",
    ]  # fmt: skip
    assert done.messages[3] is TEXT
