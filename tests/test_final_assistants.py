"""Requests whose parameters let the assistant's message be the last one."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Lesson

USER: dict[str, Any] = {"role": "user", "content": "go"}
PARTIAL: dict[str, Any] = {"role": "assistant", "content": "partial answer"}
CONTINUED = {"role": "user", "content": "[continued]"}
CLAUDE = "anthropic/claude-sonnet-4-6"
VLLM = ("hosted_vllm/mistral-small", "hosted_vllm/gemma-2-9b", "hosted_vllm/apertus-8b")
CONTINUES = {"continue_final_message": True, "add_generation_prompt": False}
SUMMARIZES = {"compaction": {"type": "summarize"}}


def body(*messages: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), **parameters}


@pytest.mark.parametrize("target", [*VLLM, "strict/m", "llamacpp/qwen3-8b"])
@pytest.mark.parametrize(
    "parameters",
    [CONTINUES, {"extra_body": CONTINUES}, {"continue_final_message": "content"}],
)
def test_a_message_that_the_server_continues_stays_last(
    target: str, parameters: dict[str, Any]
) -> None:
    given = body(USER, PARTIAL, **parameters)
    assert chatmend.repair_request(given, target).body is given


@pytest.mark.parametrize("target", ["hosted_vllm/gemma-2-9b", "strict/m"])
def test_a_conversation_that_is_only_rendered_stays_unchanged(target: str) -> None:
    given = body(USER, PARTIAL, add_generation_prompt=False)
    assert chatmend.repair_request(given, target).body is given


@pytest.mark.parametrize("content", ["done", [{"type": "text", "text": "done"}]])
@pytest.mark.parametrize("thinking", [None, {"type": "adaptive"}])
def test_claude_summarizes_a_conversation_that_ends_with_an_answer(
    content: object, thinking: object
) -> None:
    given = body(USER, {"role": "assistant", "content": content}, thinking=thinking, **SUMMARIZES)
    assert chatmend.repair_request(given, CLAUDE).body is given


@pytest.mark.parametrize(
    ("target", "parameters"),
    [
        *((target, {}) for target in (*VLLM, CLAUDE)),
        *((target, {"continue_final_message": False}) for target in VLLM),
        # mistral-common refuses an answer at the end unless the server continues it.
        ("hosted_vllm/mistral-small", {"add_generation_prompt": False}),
        ("mistral/mistral-large-latest", CONTINUES),
        ("lm_studio/qwen3-8b", CONTINUES),
        (CLAUDE, {"compaction": None}),
        (CLAUDE, {"compaction": {"type": "other"}}),
        (CLAUDE, CONTINUES),
    ],
)
def test_other_requests_get_a_user_message(target: str, parameters: dict[str, Any]) -> None:
    done = chatmend.repair_request(body(USER, PARTIAL, **parameters), target)
    assert done.body["messages"] == [USER, PARTIAL, CONTINUED]
    assert [change.code for change in done.changes] == ["TURN005"]


@pytest.mark.parametrize(("target", "parameters"), [(VLLM[0], CONTINUES), (CLAUDE, SUMMARIZES)])
def test_requests_with_and_without_the_parameter_do_not_share_what_was_learnt(
    target: str, parameters: dict[str, Any]
) -> None:
    for _ in range(3):
        with_parameter, without = body(USER, PARTIAL, **parameters), body(USER, PARTIAL)
        assert chatmend.repair_request(with_parameter, target).body is with_parameter
        assert chatmend.repair_request(without, target).body["messages"][-1] == CONTINUED


def test_a_lesson_of_another_request_does_not_add_a_message() -> None:
    refused = chatmend.react(
        body(USER, PARTIAL),
        "hosted_vllm/qwen2.5",
        "Cannot set `add_generation_prompt` to True when the last message is from the assistant. "
        "Consider using `continue_final_message` instead.",
    )
    assert refused is not None
    assert isinstance(refused.lesson, Lesson)
    given = body(USER, PARTIAL, **CONTINUES)
    done = chatmend.repair_request(given, "hosted_vllm/qwen2.5", lessons=[refused.lesson])
    assert done.body is given


@pytest.mark.parametrize(("target", "parameters"), [(VLLM[0], CONTINUES), (CLAUDE, SUMMARIZES)])
def test_the_rest_of_the_transcript_is_repaired_and_stays_append_only(
    target: str, parameters: dict[str, Any]
) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    messages = [USER, calling, USER, PARTIAL]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    done = chatmend.repair_request(body(*messages, tools=tools, **parameters), target)
    assert done.body["messages"][-1] == PARTIAL
    assert done.changes
    assert chatmend.repair_request(done.body, target).body is done.body
    later = chatmend.repair_request(body(*messages, USER, tools=tools), target)
    sent = done.body["messages"]
    assert later.body["messages"][: len(sent)] == sent
