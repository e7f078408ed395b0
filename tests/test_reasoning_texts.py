"""Reasoning as text, which OpenAI refuses in its own Responses API."""

from __future__ import annotations

from typing import Any

import pytest
from openai import BadRequestError, OpenAI

import chatmend
from chatmend import Effect
from chatmend.sandbox import Sandbox

USER, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "on"}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "a", "annotations": []}],
}
TEXTS = [{"type": "reasoning_text", "text": "I add both."}]
REASONING = {"type": "reasoning", "summary": [], "content": TEXTS}
SEALED = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAAB" + "x" * 40}
SUMMED = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "A sum."}]}
REFUSING = ["openai/gpt-5", "azure/gpt-5", "github_copilot/gpt-5.3-codex"]


def repaired(item: dict[str, Any], target: str) -> tuple[list[Any], list[tuple[str, Effect]]]:
    body = {"input": [USER, item, ANSWER, NEXT], "store": False}
    done = chatmend.repair_request(body, target)
    return done.body["input"][1:-2], [(one.code, one.effect) for one in done.changes]


@pytest.mark.parametrize("item", [REASONING, {**SUMMED, "content": TEXTS}])
@pytest.mark.parametrize("target", ["deepseek/deepseek-v4-pro", "hosted_vllm/any", "azure/kimi-k2"])
def test_servers_that_read_the_texts_get_them(item: dict[str, Any], target: str) -> None:
    assert repaired(item, target) == ([item], [])


@pytest.mark.parametrize("item", [REASONING, {**SUMMED, "content": TEXTS}])
@pytest.mark.parametrize(
    "target",
    [
        *("hosted_vllm/openai/gpt-oss-120b", "ollama/gpt-oss", "lm_studio/openai/gpt-oss-20b"),
        *("llamacpp/gpt-oss-20b", "groq/openai/gpt-oss-120b", "openrouter/openai/gpt-oss-120b"),
        *("deepseek/deepseek-v4-pro", "openai_compatible/any", "fireworks_ai/gpt-oss-120b"),
    ],
)
def test_a_text_is_in_the_item_and_needs_no_lookup(item: dict[str, Any], target: str) -> None:
    """Sources: ``ResponseReasoningItemParam.content`` in the SDK; the guide to gpt-oss's reasoning
    in openai/openai-cookbook (articles/gpt-oss/handle-raw-cot.md)."""
    item = {**item, "id": "rs_1"}
    assert repaired(item, target) == ([item], [])


def test_a_server_that_reads_summaries_gets_one_with_an_id() -> None:
    item = {**SUMMED, "id": "rs_1"}
    assert repaired(item, "hosted_vllm/any") == ([item], [])
    assert repaired({**item, "summary": []}, "hosted_vllm/any") == ([], [("ITEM002", Effect.DROPS)])


@pytest.mark.parametrize("target", REFUSING)
def test_text_with_an_id_is_looked_up_where_texts_are_refused(target: str) -> None:
    item = {**REASONING, "id": "rs_1"}
    assert repaired(item, target) == ([], [("ITEM002", Effect.DROPS)])


def test_a_server_that_looks_for_the_text_gets_none() -> None:
    """An unknown server may pass its requests to OpenAI."""
    body = {"input": [USER, {**REASONING, "id": "rs_1"}, ANSWER, NEXT], "store": False}
    error = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    reaction = chatmend.react(body, "openai_compatible/any", error)
    assert reaction is not None
    assert reaction.body["input"] == [USER, ANSWER, NEXT]


@pytest.mark.parametrize("content", [[], None])
@pytest.mark.parametrize("target", REFUSING)
def test_reasoning_without_texts_is_unchanged(content: object, target: str) -> None:
    item = {**SEALED, "content": content}
    assert repaired(item, target) == ([item], [])


@pytest.mark.parametrize("kept", [SEALED, SUMMED])
@pytest.mark.parametrize("target", REFUSING)
def test_what_is_sealed_or_summed_up_is_kept_without_the_texts(
    kept: dict[str, Any], target: str
) -> None:
    assert repaired({**kept, "content": TEXTS}, target) == ([kept], [("THINK006", Effect.DROPS)])


@pytest.mark.parametrize("target", REFUSING)
def test_reasoning_that_has_only_texts_is_removed(target: str) -> None:
    assert repaired(REASONING, target) == ([], [("THINK006", Effect.DROPS)])


def test_openai_refuses_the_texts_and_accepts_the_repair() -> None:
    items: Any = [USER, {**SUMMED, "content": TEXTS}, ANSWER, NEXT]
    with Sandbox() as sandbox:
        client = OpenAI(base_url=sandbox.url("openai/v1"), api_key="any", max_retries=0)
        with pytest.raises(BadRequestError, match="maximum length 0"):
            client.responses.create(model="gpt-5", input=items, store=False)
        items = chatmend.repair(items, "openai/gpt-5", store=False).messages
        assert client.responses.create(model="gpt-5", input=items, store=False).output_text
