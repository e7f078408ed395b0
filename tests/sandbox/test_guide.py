"""The environment variables in the guide point clients at the sandbox."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chatmend.sandbox.guide import PROVIDERS, banner, exports, hosts_setting

HELLO = [{"role": "user", "content": "hello there"}]


@pytest.fixture
def configured_sandbox(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for provider in PROVIDERS:
        lines = exports(sandbox.url().rstrip("/"), provider)
        for name, value in re.findall(r"export (\w+)=(\S+)", lines):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("CHATMEND_HOSTS", hosts_setting(sandbox.url().rstrip("/")))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    monkeypatch.setenv("AZURE_API_KEY", "any")
    return sandbox


@pytest.mark.parametrize(
    ("root", "options"),
    [
        ("http://127.0.0.1:8090", "--port 8090"),
        ("http://0.0.0.0:81", "--host 0.0.0.0 --port 81"),
    ],
)
def test_the_banner_is_short_and_names_the_command_for_the_variables(
    root: str, options: str
) -> None:
    lines = banner(root).splitlines()
    assert len(lines) < 10
    assert lines[0].startswith(f"chatmend sandbox on {root} ")
    assert f'  eval "$(chatmend sandbox --env anthropic {options})"' in lines
    assert set(PROVIDERS) <= set(re.findall(r"\w+", banner(root)))


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4o",
        "anthropic/claude-sonnet-4-5",
        "gemini/gemini-2.5-flash",
        "mistral/mistral-large-latest",
        "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "azure/gpt-4o",
        "ollama_chat/llama3.1",
        "deepseek/deepseek-chat",
        "xai/grok-4-1-fast-non-reasoning",
        "groq/llama-3.3-70b-versatile",
        "cohere_chat/command-a-03-2025",
        "moonshot/kimi-k2-0905-preview",
        "zai/glm-4.6",
        "minimax/MiniMax-M2",
        "openrouter/anthropic/claude-haiku-4.5",
        "perplexity/sonar",
        "hosted_vllm/strict",
    ],
)
def test_litellm_uses_the_variables(configured_sandbox: Any, model: str) -> None:
    litellm = pytest.importorskip("litellm")
    answer = litellm.completion(model=model, messages=HELLO, num_retries=0)
    assert "hello there" in answer.choices[0].message.content
    assert [verdict.status for verdict in configured_sandbox.requests if verdict.status != 404] == [
        200
    ]


def test_the_official_sdks_use_the_variables(configured_sandbox: Any) -> None:
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    groq, cohere = pytest.importorskip("groq"), pytest.importorskip("cohere")
    genai, boto3 = pytest.importorskip("google.genai"), pytest.importorskip("boto3")
    openai.OpenAI().chat.completions.create(model="gpt-4o", messages=HELLO)
    anthropic.Anthropic().messages.create(model="claude-sonnet-4-6", max_tokens=10, messages=HELLO)
    groq.Groq().chat.completions.create(model="llama-3.3-70b", messages=HELLO)
    cohere.ClientV2(api_key="any", base_url=configured_sandbox.url("cohere")).chat(
        model="command-a-03-2025", messages=HELLO
    )
    gemini = genai.Client()
    gemini.models.generate_content(model="gemini-2.5-flash", contents="hello there")
    boto3.client("bedrock-runtime").converse(
        modelId="us.amazon.nova-lite-v1:0",
        messages=[{"role": "user", "content": [{"text": "hello there"}]}],
    )
    providers = [verdict.provider for verdict in configured_sandbox.requests]
    assert providers == ["openai", "anthropic", "groq", "cohere", "gemini", "bedrock"]
    assert not configured_sandbox.refusals
