"""A message in another wire format is converted; one that only has an unknown key of it stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

UNKNOWN_SERVER = "openai_compatible/some-model"
ITEMS = [
    {"role": "user", "content": "q"},
    {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "o"},
]
THOUGHT = {"type": "thinking", "thinking": "a", "signature": "b"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "reasoning_content": None, "content": "Hurry"},
        {"role": "assistant", "reasoning_content": None, "content": "x"},
        {"role": "assistant", "reasoning_content": 3, "content": "x"},
        {"role": "user", "tool_call_id": "x", "content": "y"},
        {"role": "user", "thinking_blocks": [THOUGHT], "content": "y"},
    ],
    ids=str,
)
def test_a_message_that_reads_the_same_in_both_formats_is_unchanged(
    message: dict[str, Any],
) -> None:
    messages = [*ITEMS, message, {"role": "user", "content": "z"}]
    done = chatmend.repair(messages, UNKNOWN_SERVER, dialect="openai_responses")
    assert done.messages is messages
    assert not done.changes
