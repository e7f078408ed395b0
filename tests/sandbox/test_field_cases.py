"""Requests that providers refused, as public threads report them, are refused by the sandbox, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

from tests import corpus
from tests.sandbox.posting import post

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.sandbox import Sandbox

CHATS = {
    "openai": "openai/v1/chat/completions",
    "azure": "azure/openai/v1/chat/completions",
    "deepseek": "deepseek/chat/completions",
    "mistral": "mistral/v1/chat/completions",
    "xai": "xai/v1/chat/completions",
    "groq": "groq/openai/v1/chat/completions",
    "moonshot": "moonshot/v1/chat/completions",
    "zai": "zai/api/paas/v4/chat/completions",
    "minimax": "minimax/v1/chat/completions",
    "cerebras": "cerebras/v1/chat/completions",
    "fireworks_ai": "fireworks_ai/inference/v1/chat/completions",
    "openrouter": "openrouter/api/v1/chat/completions",
    "databricks": "databricks/serving-endpoints/chat/completions",
}
ACCEPTED = {
    "F010": "recordings with text between a call and its result are accepted",
    "F070": "recordings with reasoning before an answer without an id are accepted",
    "F179": "only the provider can verify a signature",
}
"""Cases that the sandbox accepts, with the reason."""


def path_of(case: dict[str, Any], model: str) -> str | None:
    """The path of the sandbox for a case; None if the sandbox has no such endpoint."""
    host = case["target"].partition("/")[0]
    if case["format"] == "openai_chat":
        return CHATS.get(host)
    return {
        "anthropic_messages anthropic": "anthropic/v1/messages",
        "anthropic_messages vertex_ai": "anthropic/v1/messages",
        "openai_responses openai": "openai/v1/responses",
        "openai_responses azure": "openai/v1/responses",
        "openai_responses xai": "xai/v1/responses",
        "gemini_contents gemini": f"gemini/v1beta/models/{model}:generateContent",
        "bedrock_converse bedrock": f"bedrock/model/{quote(model, safe='')}/converse",
        "ollama_chat ollama_chat": "ollama/api/chat",
    }.get(f"{case['format']} {host}")


def cases() -> Iterator[Any]:
    """The cases whose body shows the defect, with the path and the model."""
    for case in corpus.rows("field_cases"):
        model = case["target"].partition("/")[2]
        if case["needs"] == "body" and (path := path_of(case, model)) is not None:
            yield pytest.param(case, path, model, id=case["id"])


@pytest.mark.skipif(not corpus.rows("field_cases"), reason="the corpus is not here")
@pytest.mark.parametrize(("case", "path", "model"), list(cases()))
def test_what_a_provider_refused_is_refused(
    sandbox: Sandbox, case: dict[str, Any], path: str, model: str
) -> None:
    body = case["body"]
    if case["format"] not in ("gemini_contents", "bedrock_converse"):
        body = {**body, "model": model}
    if case["format"] == "anthropic_messages":
        body = {"max_tokens": 100, **body}
    headers = {"authorization": "Bearer any", "content-type": "application/json"}
    answer = post(sandbox.url(path), content=json.dumps(body), headers=headers)
    assert (answer.status_code == httpx.codes.OK) is (case["id"] in ACCEPTED), answer.text
