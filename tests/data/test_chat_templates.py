"""The chat templates of Qwen, Llama, Gemma, Mistral and others, as TRL and Axolotl ship them, and Mistral's validator for fine-tuning accept every usable row for their model."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from benchmarks.scale import corpus
from benchmarks.scale.templates import MODELS, load_template, render
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from chatmend.data import repair_rows
from tests.scale import examples


def template(name: str) -> Any:
    try:
        return load_template(name)
    except FileNotFoundError:
        pytest.skip("TRL or Axolotl is not installed: make .venv/.dev")


@pytest.mark.parametrize("name", MODELS)
def test_every_usable_row_is_rendered(name: str) -> None:
    found, target = template(name), f"hosted_vllm/{MODELS[name]}"
    refused, repaired = 0, 0
    for row in islice(corpus.rows("trl", 10_000), examples(120, 5_000)):
        (result,) = repair_rows([row], target=target)
        if result.status == "quarantined":
            continue
        text = render(found, result.row["messages"])
        answer = result.row["messages"][-1]["content"]
        assert answer in text
        if result.status == "repaired":
            repaired += 1
            try:
                render(found, row["messages"])
            except (ValueError, TypeError):
                refused += 1
    assert repaired >= refused > 0


def mistral_refuses(messages: list[dict[str, Any]], version: str) -> bool:
    """Return whether Mistral's own validator refuses messages for fine-tuning."""
    validator = get_validator(TokenizerVersion(version), ValidationMode.finetuning)
    # Its door for messages of OpenAI takes no empty text next to calls.
    given = [
        {**message, "content": None} if message.get("tool_calls") else message
        for message in messages
    ]
    try:
        validator.validate_request(ChatCompletionRequest.from_openai(given))
    except (MistralCommonException, ValueError):
        return True
    return False


@pytest.mark.parametrize("version", ["v3", "v7", "v13"])
@pytest.mark.parametrize(
    "target", ["hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3", "mistral/mistral-large-latest"]
)
def test_mistrals_validator_accepts_every_usable_row(target: str, version: str) -> None:
    rows = list(islice(corpus.rows("trl", 10_000), examples(100, 5_000)))
    results = list(repair_rows(rows, target=target))
    usable = [result for result in results if result.status != "quarantined"]
    assert not [r.row for r in usable if mistral_refuses(r.row["messages"], version)]
    assert any(mistral_refuses(row["messages"], version) for row in rows)
