"""chatmend's lookups in LiteLLM print nothing: LiteLLM prints its list of providers for names that it does not know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import litellm
import pytest

from chatmend.litellm import completion
from chatmend.litellm.conversion import target_through_litellm
from chatmend.litellm.quiet import without_prints
from chatmend.litellm.shapes import RESPONSES
from chatmend.litellm.target import target_of, target_of_route

DEPLOYMENTS = [
    "azure/my-{}",
    "azure/gpt-4o-{}",
    "azure/o_series/my-{}",
    "azure_ai/Llama-3.3-70B-{}",
    "azure_ai/mistral-large-{}",
    "azure_ai/claude-{}",
    "bedrock/converse/my-{}",
    "databricks/my-{}",
    "github_copilot/my-{}",
    "hosted_vllm/my-{}",
    "openai/my-{}",
    "perplexity/my-{}",
    "vertex_ai/{}",
    "volcengine/my-{}",
    "xai/my-{}",
]


@pytest.fixture(autouse=True)
def printing_litellm(untouched_litellm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let LiteLLM print, as it does by default; the other tests suppress it."""
    monkeypatch.setattr(litellm, "suppress_debug_info", False)


@pytest.mark.parametrize("model", [*DEPLOYMENTS, "my-{}"])
def test_the_target_of_a_deployment_is_found_without_a_print(
    model: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name = target_of({"model": model.format("target")})
    assert model == "my-{}" or target_through_litellm(name).name == name
    target_of_route("/unknown/v1/responses", model.format("route"), RESPONSES)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("model", DEPLOYMENTS[:6])
def test_the_first_call_of_a_deployment_prints_what_litellm_prints_alone(
    model: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}],
        "api_base": "http://127.0.0.1:1",
        "api_key": "k",
        "api_version": "2024-10-21",
        "mock_response": "hello",
    }
    litellm.completion(model=model.format("bare"), **options)
    alone = capfd.readouterr().out  # LiteLLM 1.82 prints its list for some of them
    answer = completion(model=model.format("call"), **options)
    assert answer.choices[0].message.content == "hello"
    assert capfd.readouterr().out == alone


@pytest.mark.parametrize("given", [False, True])
def test_the_setting_of_the_user_is_restored(
    *, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "suppress_debug_info", given)
    ready = Barrier(8)

    def look_up(_: int) -> None:
        ready.wait()
        for _ in range(200):
            with without_prints():
                assert litellm.suppress_debug_info is True

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(look_up, range(8)))
    with pytest.raises(ValueError, match="lookup"), without_prints():
        raise ValueError("lookup")
    assert litellm.suppress_debug_info is given
