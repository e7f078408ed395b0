"""The target of a LiteLLM call is derived from its address, from every setting that can set it."""

from __future__ import annotations

from typing import Any

import litellm
import pytest

import chatmend
from chatmend.litellm import ChatMend
from chatmend.litellm.shapes import shape_of_route
from chatmend.litellm.target import target_of, target_of_route

FOREIGN = "http://10.0.0.7:8000/v1"
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("kwargs", "target"),
    [
        ({"model": "openai/gpt-5"}, "openai/gpt-5"),
        ({"model": "gpt-5", "api_base": "https://api.openai.com/v1"}, "openai/gpt-5"),
        (
            {"model": "openai/deepseek-chat", "api_base": "https://api.deepseek.com/v1"},
            "deepseek/deepseek-chat",
        ),
        ({"model": "openai/kimi-k3", "base_url": "https://api.moonshot.ai/v1"}, "moonshot/kimi-k3"),
        ({"model": "openai/my-model", "api_base": FOREIGN}, "openai_compatible/my-model"),
        ({"model": "custom_openai/my-model", "api_base": FOREIGN}, "openai_compatible/my-model"),
        ({"model": "openai_like/my-model", "api_base": FOREIGN}, "openai_compatible/my-model"),
        ({"model": "hosted_vllm/my-model", "api_base": FOREIGN}, "hosted_vllm/my-model"),
        ({"model": "nebius/my-model"}, "nebius/my-model"),
        (
            {"model": "databricks/dbrx", "api_base": "https://acme.databricks.com"},
            "databricks/dbrx",
        ),
    ],
)
def test_the_address_of_a_call_determines_its_target(kwargs: dict[str, Any], target: str) -> None:
    assert target_of(kwargs) == target


_VERTEX = "/vertex_ai/v1/projects/p/locations/us-east5/publishers"


@pytest.mark.parametrize(
    ("path", "field", "target"),
    [
        ("/anthropic/v1/messages", "messages", "anthropic/m"),
        ("/anthropic/v1/messages/count_tokens", "messages", "anthropic/m"),
        ("/openai_passthrough/v1/responses", "input", "openai/m"),
        (
            "/gemini/v1beta/models/gemini-2.5-flash:countTokens",
            "contents",
            "gemini/gemini-2.5-flash",
        ),
        (
            f"{_VERTEX}/google/models/gemini-2.5-pro:streamGenerateContent",
            "contents",
            "vertex_ai/gemini-2.5-pro",
        ),
        (
            f"{_VERTEX}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
            "messages",
            "vertex_ai/claude-sonnet-4-5@20250929",
        ),
        (f"{_VERTEX}/mistralai/models/mistral-large:rawPredict", None, ""),
        (f"{_VERTEX}/anthropic/models/count-tokens:rawPredict", "messages", "vertex_ai/m"),
        ("/openai/v1/responses/compact", "input", "openai/m"),
        ("/openai/v1/responses/resp_1", None, ""),
        ("/gemini/v1beta/models/gemini-2.5-pro:computeTokens", "contents", "gemini/gemini-2.5-pro"),
        ("/openai/v1/embeddings", None, ""),
    ],
)
def test_the_path_of_a_pass_through_request_determines_format_and_target(
    path: str, field: str | None, target: str
) -> None:
    shape = shape_of_route(path)
    assert (None if shape is None else shape.field) == field
    if shape is not None:
        assert target_of_route(path, "m", shape) == target


_ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghijkl"
_SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({}, f"bedrock/{_ARN}"),
        ({"reasoning_effort": "low"}, f"bedrock/{_ARN}"),
        ({"thinking": None}, f"bedrock/{_ARN}"),
        ({"thinking": {"type": "adaptive"}}, f"bedrock/{_ARN}/anthropic.claude"),
        ({"reasoning_config": {"type": "enabled"}}, f"bedrock/{_ARN}/anthropic.claude"),
        ({"data": {"anthropic_version": "b"}}, f"bedrock/{_ARN}/anthropic.claude"),
        ({"base_model": f"bedrock/{_SONNET}"}, f"bedrock/{_SONNET}"),
        ({"model_info": {"base_model": _SONNET}}, f"bedrock/{_SONNET}"),
        ({"base_model": _SONNET, "model_info": {"base_model": "x"}}, f"bedrock/{_SONNET}"),
    ],
)
@pytest.mark.parametrize("route", ["", "converse/", "invoke/"])
def test_the_call_shows_the_model_behind_an_arn(
    route: str, more: dict[str, Any], target: str
) -> None:
    model = f"bedrock/{route}{_ARN}"
    assert target_of({"model": model, **more}) == target.replace("bedrock/", f"bedrock/{route}", 1)


def test_a_target_set_by_the_operator_overrides_the_address() -> None:
    info = {"chatmend_target": "openai/gpt-4o"}
    assert (
        target_of({"model": "openai/x", "api_base": FOREIGN, "model_info": info}) == "openai/gpt-4o"
    )


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_an_address_in_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, FOREIGN)
    assert target_of({"model": "openai/my-model"}) == "openai_compatible/my-model"
    assert (
        target_of({"model": "openai/my-model", "api_base": "https://api.x.ai/v1"}) == "xai/my-model"
    )
    assert target_of({"model": "groq/llama-3.3-70b-versatile"}) == "groq/llama-3.3-70b-versatile"


def test_the_address_in_litellm_api_base_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "api_base", FOREIGN)
    assert target_of({"model": "openai/my-model"}) == "openai_compatible/my-model"


def test_a_provider_without_a_table_is_repaired_like_an_unknown_openai_compatible_server() -> None:
    ask = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    messages = [{"role": "user", "content": "a"}, ask, {"role": "user", "content": "b"}]
    names = [
        target_of({"model": model, "api_base": FOREIGN})
        for model in ("openai/m", "custom_openai/m", "nebius/m")
    ]
    sent = [chatmend.repair(messages, name).messages for name in names]
    assert [message["role"] for message in sent[0]] == ["user", "assistant", "tool", "user"]
    assert sent[1:] == sent[:1] * 2


def test_an_invalid_entry_in_chatmend_hosts_raises_at_construction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHATMEND_HOSTS", "llm.acme.example=opneai")
    with pytest.raises(chatmend.TargetError, match="CHATMEND_HOSTS"):
        ChatMend()
