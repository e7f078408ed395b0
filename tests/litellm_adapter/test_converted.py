"""Responses items that LiteLLM made of Anthropic's messages: text after a call is not taken for a later answer."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend.litellm.conversion import reached

ASKS = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How warm is it?"}]}
CALL = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
FOUND = {"type": "function_call_output", "call_id": "call_1", "output": "18"}


def items(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [ASKS, *entries]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "azure/gpt-5-mini", "openai_compatible/qwen3"])
@pytest.mark.parametrize("behind", [[], [ASKS], [SAID, ASKS]], ids=["the end", "a user", "an answer"])
def test_text_between_a_call_and_its_result_stays_there(target: str, behind: list[dict[str, Any]]) -> None:
    messages = items(CALL, SAID, FOUND, *behind)
    assert chatmend.repair(messages, reached(target), dialect="openai_responses").messages is messages


def test_a_target_that_refuses_text_there_gets_it_before_the_call() -> None:
    done = chatmend.repair(items(CALL, SAID, FOUND), reached("deepseek/deepseek-chat"), dialect="openai_responses")
    assert done.messages == items(SAID, CALL, FOUND)


def test_without_a_result_the_text_starts_a_new_turn() -> None:
    done = chatmend.repair(items(CALL, SAID, ASKS), reached("openai/gpt-4o"), dialect="openai_responses")
    assert [item["type"] for item in done.messages] == [
        "message", "function_call", "function_call_output", "message", "message",
    ]  # fmt: skip
    assert done.messages[3] is SAID
