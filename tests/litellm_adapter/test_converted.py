"""What LiteLLM's own converters write is not taken for what it looks like."""

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
def test_words_of_claude_s_behind_its_call_stay_there(target: str, behind: list[dict[str, Any]]) -> None:
    messages = items(CALL, SAID, FOUND, *behind)
    assert chatmend.repair(messages, reached(target), dialect="openai_responses").messages is messages


def test_where_no_words_may_stand_there_they_come_first_and_nothing_is_added() -> None:
    done = chatmend.repair(items(CALL, SAID, FOUND), reached("deepseek/deepseek-chat"), dialect="openai_responses")
    assert [{"id": "none", **item} for item in done.messages] == [{"id": "none", **i} for i in items(SAID, CALL, FOUND)]


def test_without_a_result_the_answer_shows_that_the_model_went_on() -> None:
    done = chatmend.repair(items(CALL, SAID, ASKS), reached("openai/gpt-4o"), dialect="openai_responses")
    assert [item["type"] for item in done.messages] == [
        "message", "function_call", "function_call_output", "message", "message",
    ]  # fmt: skip
    assert done.messages[3] is SAID
