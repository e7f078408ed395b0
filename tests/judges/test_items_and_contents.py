"""The judges of Responses items and Gemini contents refuse what they are about, and nothing that was accepted."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests import corpus
from tests.promises import without_media

from . import JUDGES, judge
from .request import Request
from .responses_facts import DEEPSEEK_FACTS, FACTS, HOSTED_FACTS, OPENAI_FACTS, XAI_FACTS

GPT, GEMINI = "openai/gpt-5", "gemini/gemini-2.5-flash"
USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "r"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}

BROKEN: dict[str, tuple[str, list[Any]]] = {
    "openai-responses-input-empty": (GPT, []),
    "openai-responses-function-call-no-output": (GPT, [USER, CALL, USER]),
    "openai-responses-function-output-no-call": (GPT, [USER, OUTPUT]),
    "openai-responses-call-id-64": (
        GPT,
        [{**CALL, "call_id": "c" * 65}, {**OUTPUT, "call_id": "c" * 65}],
    ),
    "openai-responses-tool-name-128": (GPT, [{**CALL, "name": "f.g"}, OUTPUT]),
    "openai-responses-content-user-output-text": (GPT, [{**SAID, "role": "user"}]),
    "openai-responses-content-assistant-input-text": (
        GPT,
        [USER, {**SAID, "content": [{"type": "input_text", "text": "x"}]}],
    ),
    "openai-responses-item-id-prefix-fc": (GPT, [{**CALL, "id": "call_1"}, OUTPUT]),
    "openai-responses-item-id-prefix-ctc": (
        GPT,
        [{"type": "custom_tool_call", "id": "fc_1", "call_id": "c", "name": "f"}],
    ),
    "openai-responses-item-id-prefix-other": (GPT, [{**THOUGHT, "id": "msg_1"}, SAID]),
    "openai-responses-item-id-64": (GPT, [{**SAID, "id": "msg_" + "x" * 64}]),
    "openai-responses-duplicate-item": (GPT, [{**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}]),
    "openai-responses-reasoning-status-null": (GPT, [{**THOUGHT, "status": None}, SAID]),
    "openai-responses-item-unknown-member": (
        GPT,
        [{**USER, "cache_control": {"type": "ephemeral"}}],
    ),
    "openai-responses-reasoning-without-following": (GPT, [USER, THOUGHT, USER]),
    "openai-responses-reasoning-content": (
        "openai/gpt-5",
        [
            USER,
            {
                "type": "reasoning",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "x"}],
            },
            SAID,
        ],
    ),
    "xai-reasoning-item-empty": ("xai/grok-4", [USER, {"type": "reasoning", "summary": []}, SAID]),
    "deepseek-responses-interleaved": ("deepseek/deepseek-chat", [USER, CALL, SAID, OUTPUT]),
}
ILL_TYPED = [
    [7],
    [{"type": "hologram"}],
    [{"role": "tool", "content": "x"}],
    [{**OUTPUT, "output": {"a": 1}}],
    [{"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}],
]
WRONG_CONTENTS = [
    [],
    [{"role": "assistant", "parts": [{"text": "x"}]}],
    [{"role": "user", "content": "x"}],
    [{"role": "user", "parts": []}],
    [{"role": "user", "parts": [{"text": "x", "bogus": 1}]}],
    [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
    [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": "x"}}]}],
]


@pytest.mark.parametrize("rule", BROKEN)
def test_each_responses_fact_refuses_what_it_is_about(rule: str) -> None:
    target, items = BROKEN[rule]
    told = [
        fault
        for fault in judge("openai_responses", target, items)
        if fault.startswith(f"responses_facts: {rule}: ")
    ]
    assert told


def test_each_responses_fact_is_tried() -> None:
    tables = (FACTS, HOSTED_FACTS, OPENAI_FACTS, XAI_FACTS, DEEPSEEK_FACTS)
    assert {rule for table in tables for rule, _ in table} == set(BROKEN)


VLLM, LLAMACPP, OLLAMA = "hosted_vllm/Qwen/Qwen3.5-32B", "llamacpp/m", "ollama/llama3.1"
XAI = "xai/grok-4"
REFUSED_BY_SERVERS = [
    ([USER, {"type": "compaction", "encrypted_content": "E"}], (VLLM, LLAMACPP, OLLAMA)),
    ([{"role": "user", "content": [{"type": "input_file"}]}], (VLLM, LLAMACPP, OLLAMA)),
    ([USER, {**CALL, "arguments": "[1]"}, OUTPUT], (VLLM, LLAMACPP, OLLAMA)),
    ([USER, {"type": "web_search_call"}, SAID], (VLLM, LLAMACPP)),
    ([USER, THOUGHT, SAID], (VLLM, LLAMACPP)),
    ([USER, {**THOUGHT, "encrypted_content": None}, SAID], (LLAMACPP,)),
    ([USER, {"role": "assistant", "content": "x"}, USER], (LLAMACPP,)),
    ([USER, CALL, {**OUTPUT, "output": None}], (LLAMACPP,)),
    ([USER, {"role": "system", "content": "x"}], (VLLM,)),  # the chat template
    ([USER, {**THOUGHT, "content": None}, SAID], (VLLM, LLAMACPP, XAI)),
    ([USER, {"type": "agent_message", "content": []}], (VLLM, LLAMACPP, OLLAMA, XAI)),
]


@pytest.mark.parametrize("target", [VLLM, LLAMACPP, OLLAMA, XAI])
@pytest.mark.parametrize(("items", "refusing"), REFUSED_BY_SERVERS)
def test_servers_refuse_what_they_do_not_implement(
    items: list[Any], refusing: tuple[str, ...], target: str
) -> None:
    told = JUDGES["responses_servers"](Request("openai_responses", target, items))
    assert bool(told) == (target in refusing)


@pytest.mark.parametrize("target", [VLLM, LLAMACPP, OLLAMA, XAI])
def test_servers_accept_a_tool_loop(target: str) -> None:
    text = [{"type": "reasoning_text", "text": "hm"}]
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": text}
    items = [USER, thought, CALL, OUTPUT, SAID, USER]
    assert JUDGES["responses_servers"](Request("openai_responses", target, items)) == []


@pytest.mark.parametrize("items", ILL_TYPED)
def test_an_item_that_the_sdk_has_no_type_for_is_refused(items: list[Any]) -> None:
    assert JUDGES["responses_types"](Request("openai_responses", GPT, items))


@pytest.mark.parametrize("contents", WRONG_CONTENTS)
def test_contents_that_gemini_refuses_are_refused(contents: list[Any]) -> None:
    assert JUDGES["native_contents"](Request("gemini_contents", GEMINI, contents))


def test_a_right_row_of_items_is_accepted() -> None:
    assert judge("openai_responses", GPT, [USER, THOUGHT, SAID, CALL, OUTPUT, USER]) == []


@pytest.mark.parametrize("dialect", ["openai_responses", "gemini_contents"])
@pytest.mark.skipif(not corpus.ROOT.exists(), reason="the recorded requests are not at hand")
def test_recorded_requests_are_accepted(dialect: str) -> None:
    refused = {}
    for row in corpus.spoken("requests_accepted"):
        stored = row["body"].get("previous_response_id")
        if corpus.DIALECTS[row["format"]] != dialect or stored:
            continue
        if refusals := judge(
            dialect, corpus.target_of(row), without_media(corpus.messages_of(row), dialect)
        ):
            refused[row["id"], corpus.target_of(row)] = refusals
    assert refused == {}


def test_an_image_may_be_named_by_its_id_only() -> None:
    """The SDK's type requires a result and a status, but OpenAI's guide sends neither."""
    items = [USER, {"type": "image_generation_call", "id": "ig_1"}, USER]
    assert judge("openai_responses", GPT, items) == []
    assert chatmend.repair(items, GPT, dialect="openai_responses").messages is items
