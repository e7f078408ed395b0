"""Calls of OpenAI's local shell, whose output clients send in three forms."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests.judges import judge

TARGET = "openai/codex-mini-latest"
USER, NEXT = {"role": "user", "content": "list"}, {"role": "user", "content": "on"}
CALL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "call_1",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}
ACCEPTED = {
    "the AI SDK": {"type": "local_shell_call_output", "call_id": "call_1", "output": "a.py"},
    "with an id of its own": {
        "type": "local_shell_call_output",
        "id": "lso_1",
        "call_id": "call_1",
        "output": "a.py",
    },
    "Codex": {"type": "function_call_output", "call_id": "call_1", "output": "a.py"},
}


@pytest.mark.parametrize("output", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_outputs_are_unchanged(output: dict[str, Any]) -> None:
    items = [USER, CALL, output, NEXT]
    done = chatmend.repair(items, TARGET, dialect="openai_responses")
    assert done.messages is items
    assert judge("openai_responses", TARGET, items) == []


def test_the_form_of_the_sdk_gets_the_id_that_the_api_reads() -> None:
    output = {"type": "local_shell_call_output", "id": "call_1", "output": "a.py"}
    done = chatmend.repair([USER, CALL, output, NEXT], TARGET)
    assert done.messages == [USER, CALL, {**output, "call_id": "call_1"}, NEXT]
    assert [(change.code, change.effect) for change in done.changes] == [
        ("ITEM003", chatmend.Effect.RESHAPES)
    ]
    assert judge("openai_responses", TARGET, done.messages) == []


def test_a_late_output_of_a_function_moves_to_its_call() -> None:
    output = ACCEPTED["Codex"]
    done = chatmend.repair([USER, CALL, NEXT, output], TARGET)
    assert done.messages == [USER, CALL, output, NEXT]


@pytest.mark.parametrize("output", ACCEPTED.values(), ids=ACCEPTED)
def test_a_server_without_the_tool_gets_a_function_call(output: dict[str, Any]) -> None:
    done = chatmend.repair([USER, CALL, output, NEXT], "vllm/any")
    kinds = [(item.get("type"), item.get("call_id")) for item in done.messages[1:3]]
    assert kinds == [("function_call", "call_1"), ("function_call_output", "call_1")]
    assert done.messages[2]["output"] == "a.py"
