"""LangChain partner classes work with the sandbox: whole answers, streams, tools, refusals."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
CLASSES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "openai": ("langchain_openai.ChatOpenAI", "openai/v1", {"model": "gpt-4o", "api_key": "k"}),
    "openai-responses": (
        "langchain_openai.ChatOpenAI",
        "openai/v1",
        {"model": "gpt-5", "api_key": "k", "use_responses_api": True},
    ),
    "anthropic": (
        "langchain_anthropic.ChatAnthropic",
        "anthropic",
        {"model": "claude-haiku-4-5", "api_key": "k"},
    ),
    "mistral": (
        "langchain_mistralai.ChatMistralAI",
        "mistral/v1",
        {"model": "mistral-large-latest", "api_key": "k"},
    ),
    "gemini": (
        "langchain_google_genai.ChatGoogleGenerativeAI",
        "gemini",
        {"model": "gemini-2.5-flash"},
    ),
    "bedrock": ("langchain_aws.ChatBedrockConverse", "bedrock", {"model": HAIKU, **KEYS}),
    "groq": (
        "langchain_groq.ChatGroq",
        "groq",
        {"model": "llama-3.3-70b-versatile", "api_key": "k"},
    ),
    "ollama": ("langchain_ollama.ChatOllama", "ollama", {"model": "llama3.1"}),
    "deepseek": (
        "langchain_deepseek.ChatDeepSeek",
        "deepseek/v1",
        {"model": "deepseek-chat", "api_key": "k"},
    ),
    "xai": (
        "langchain_xai.ChatXAI",
        "xai/v1",
        {"model": "grok-4-1-fast-non-reasoning", "api_key": "k"},
    ),
}
_BASES = {
    "gemini": lambda url: {"google_api_key": "k", "base_url": url},
    "bedrock": lambda url: {"endpoint_url": url},
    "mistral": lambda url: {"endpoint": url},
    "deepseek": lambda url: {"api_base": url},
    "xai": lambda url: {"xai_api_base": url},
}


def model_of(sandbox: Any, name: str) -> Any:
    path, base, more = CLASSES[name]
    module, _, cls = path.rpartition(".")
    pytest.importorskip(module)
    if name == "gemini" and version("langchain-google-genai") < "4":
        pytest.skip("langchain-google-genai before version 4 uses gRPC; the sandbox serves HTTP")
    url = sandbox.url(base)
    extra = _BASES.get(name, lambda url: {"base_url": url})(url)
    return getattr(import_module(module), cls)(**more, **extra)


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 degrees in {city}"


@pytest.mark.parametrize("name", CLASSES)
def test_a_request_is_answered_and_has_usage(sandbox: Any, name: str) -> None:
    answer = model_of(sandbox, name).invoke("hello there")
    assert "hello there" in answer.text
    assert answer.usage_metadata["input_tokens"] > 0
    assert not sandbox.refusals


@pytest.mark.parametrize("name", CLASSES)
def test_a_stream_has_the_text_of_the_whole_answer(sandbox: Any, name: str) -> None:
    assert "hello there" in "".join(
        chunk.text for chunk in model_of(sandbox, name).stream("hello there")
    )


@pytest.mark.parametrize("name", CLASSES)
def test_a_tool_loop_completes(sandbox: Any, name: str) -> None:
    model = model_of(sandbox, name).bind_tools([get_weather])
    messages: list[Any] = [HumanMessage("What is the weather in Paris?")]
    first = model.invoke(messages)
    call = first.tool_calls[0]
    assert call["name"] == "get_weather"
    messages += [
        first,
        ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"], name="get_weather"),
    ]
    assert "18 degrees" in model.invoke(messages).text
    assert not sandbox.refusals


@pytest.mark.parametrize(
    "name", ["openai", "anthropic", "mistral", "gemini", "bedrock", "deepseek"]
)
def test_an_unanswered_call_is_refused(sandbox: Any, name: str) -> None:
    model = model_of(sandbox, name).bind_tools([get_weather])
    call = {"name": "get_weather", "args": {"city": "x"}, "id": "abcdefgh1"}
    messages = [HumanMessage("q"), AIMessage("", tool_calls=[call, {**call, "id": "abcdefgh2"}])]
    messages += [
        ToolMessage("r", tool_call_id="abcdefgh1", name="get_weather"),
        HumanMessage("next"),
    ]
    with pytest.raises(Exception, match=r"40[0-9]|ValidationException|ensure|INVALID"):
        model.invoke(messages)
    assert {verdict.status for verdict in sandbox.refusals} == {400}
