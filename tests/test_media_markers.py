"""Markers of llama.cpp in texts, which a server with a vision model counts as images."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect

TARGET = "llamacpp/qwen2.5-vl-7b"
ERROR = (
    '{"error":{"code":400,"message":"Failed to tokenize prompt","type":"invalid_request_error"}}'
)
RANDOM = "<__media_a80swKMuUnVpYQZyaYfMSMBaOnKeolY8__>"


def request(text: str) -> dict[str, Any]:
    arguments = '{"command": "grep ' + text + '"}'
    call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": arguments}}
    tool = {"type": "function", "function": {"name": "sh", "parameters": {"type": "object"}}}
    return {
        "tools": [tool],
        "messages": [
            {"role": "user", "content": f"explain {text}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": text},
        ],
    }


@pytest.mark.parametrize("marker", ["<__media__>", RANDOM])
def test_a_marker_is_sent_until_it_is_refused(marker: str) -> None:
    body = request(marker)
    assert chatmend.repair_request(body, TARGET).body is body


@pytest.mark.parametrize("marker", ["<__media__>", RANDOM])
def test_react_writes_the_markers_of_all_messages_with_a_space(marker: str) -> None:
    """ggml-org/llama.cpp#21955, #27249."""
    again = chatmend.react(request(marker), TARGET, ERROR)
    assert again is not None
    assert again.body == request(marker.replace("<", "< "))
    assert again.lesson is not None
    assert (again.lesson.limit, again.lesson.value) == ("media_markers", False)
    assert {change.effect for change in again.changes} == {Effect.DEGRADES}
    assert chatmend.react(again.body, TARGET, ERROR) is None


def test_other_prompts_that_the_server_cannot_tokenize_are_unchanged() -> None:
    assert chatmend.react(request("<__unk__>"), TARGET, ERROR) is None
