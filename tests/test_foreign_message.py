"""A message in another wire format is converted; one that only has an unknown key of it stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS

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


@pytest.mark.parametrize(
    ("dialect", "target", "question"),
    [
        ("bedrock_converse", "bedrock/us.amazon.nova-pro-v1:0", {"content": [{"text": "q"}]}),
        ("gemini_contents", "gemini/gemini-2.5-pro", {"parts": [{"text": "q"}]}),
        ("openai_responses", "openai/gpt-5", {"content": "q"}),
        ("openai_chat", "openai/gpt-4o", {"content": "q"}),
    ],
)
def test_a_result_among_the_calls_is_kept(
    dialect: str, target: str, question: dict[str, Any]
) -> None:
    called = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "found it"}
    message = {"role": "assistant", "content": [], "tool_calls": [called, result]}
    messages = [{"role": "user", **question}, message]
    done = chatmend.repair(messages, target, dialect=dialect)
    assert "found it" in json.dumps(done.messages)
    assert "n" in {call.name for one in done.messages for call in DIALECTS[dialect].read(one).calls}
