"""Null and missing content next to calls: where they stay, and where they become an empty text."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

CALL = {"id": "call_1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
LM_STUDIO = "lm_studio/qwen3.6"


def chat(**answer: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", **answer, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "r"},
    ]


@pytest.mark.parametrize("answer", [{"content": ""}, {"content": "a"}])
def test_a_text_stays_at_lm_studio(answer: dict[str, Any]) -> None:
    messages = chat(**answer)
    assert chatmend.repair(messages, LM_STUDIO).messages is messages


@pytest.mark.parametrize("answer", [{"content": None}, {}])
def test_llama_cpp_accepts_null_and_missing_content(answer: dict[str, Any]) -> None:
    messages = chat(**answer)
    assert chatmend.repair(messages, "llamacpp/qwen3.6").messages is messages


def test_calls_of_the_responses_api_stay_at_lm_studio() -> None:
    items = [
        {"role": "user", "content": "q"},
        {"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
    ]
    assert chatmend.repair(items, LM_STUDIO, dialect="openai_responses").messages is items


@pytest.mark.parametrize("target", [LM_STUDIO, "lm_studio/openai/gpt-oss-20b"])
@pytest.mark.parametrize("answer", [{"content": None}, {}])
def test_lm_studio_gets_an_empty_text(target: str, answer: dict[str, Any]) -> None:
    done = chatmend.repair(chat(**answer), target)
    assert done.messages == chat(content="")
    assert [change.code for change in done.changes] == ["TEXT002"]
    assert chatmend.repair(done.messages, target).messages is done.messages


def test_a_result_without_content_gets_one_at_lm_studio() -> None:
    messages = [*chat(content="")[:2], {"role": "tool", "tool_call_id": "call_1"}]
    assert chatmend.repair(messages, LM_STUDIO).messages[2]["content"] == ""


LISTED = [*chat(content="")[:2], {**chat()[2], "content": [{"type": "text", "text": "r"}]}]


@pytest.mark.parametrize(
    "target", ["llamacpp/gpt-oss-20b", "lm_studio/openai/gpt-oss-20b", "hosted_vllm/Qwen/Qwen3-8B"]
)
def test_a_list_stays_the_result_where_it_is_accepted(target: str) -> None:
    assert chatmend.repair(LISTED, target).messages is LISTED


def test_a_list_becomes_a_text_for_gpt_oss_at_vllm() -> None:
    done = chatmend.repair(LISTED, "hosted_vllm/openai/gpt-oss-20b")
    assert done.messages == chat(content="")


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "s"}],
    "encrypted_content": "gAAA",
}


def items(**more: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "q"},
        {**REASONING, **more},
        {"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
    ]


@pytest.mark.parametrize(
    ("target", "more"), [("openrouter/openai/gpt-5.5", {}), ("openai/gpt-5.5", {"content": None})]
)
def test_reasoning_that_is_accepted_stays_the_same_object(
    target: str, more: dict[str, Any]
) -> None:
    given = items(**more)
    assert chatmend.repair(given, target, dialect="openai_responses").messages is given


def test_reasoning_for_openrouter_has_no_null_content() -> None:
    target = "openrouter/openai/gpt-5.5"
    done = chatmend.repair(items(content=None), target, dialect="openai_responses")
    assert done.messages == items()
    again = chatmend.repair(done.messages, target, dialect="openai_responses")
    assert again.messages is done.messages
