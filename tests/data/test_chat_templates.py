"""The chat templates of Qwen, Llama, Gemma and others, as TRL ships them, and Mistral's validator for fine-tuning accept every usable row for their model."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale import corpus
from jinja2.sandbox import ImmutableSandboxedEnvironment
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from chatmend.data import repair_rows
from tests.scale import examples

TEMPLATES = Path(sys.prefix) / "trl" / "trl" / "chat_templates"
"""`make` installs TRL there, without the packages that it depends on."""
MODELS = {
    "qwen2_5": "Qwen/Qwen2.5-7B-Instruct",
    "qwen3": "Qwen/Qwen3-8B",
    "qwen3_5_think": "Qwen/Qwen3.5-32B",
    "llama3": "meta-llama/Meta-Llama-3-8B-Instruct",
    "llama3_1": "meta-llama/Llama-3.1-8B-Instruct",
    "llama3_2": "meta-llama/Llama-3.2-3B-Instruct",
    "gemma": "google/gemma-2-9b-it",
    "gemma3": "google/gemma-3-27b-it",
    "gptoss": "openai/gpt-oss-120b",
    "glm4moe": "zai-org/GLM-4.5",
}


_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def _raise(text: str) -> None:
    raise ValueError(text)


def template(name: str) -> Any:
    """Return a template in the environment that transformers gives it."""
    path = TEMPLATES / f"{name}.jinja"
    if not path.exists():
        pytest.skip("TRL is not installed: make .venv/.dev")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda _: "24 Nov 2026"
    return environment.from_string(path.read_text("utf-8"))


def render(found: Any, messages: list[dict[str, Any]]) -> str:
    """Render messages as trainers do: with the arguments of calls as objects."""
    objects = json.loads(json.dumps(messages))
    for message in objects:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return str(found.render(messages=objects, **_TOKENS))


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
