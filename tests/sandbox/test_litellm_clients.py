"""LiteLLM works with the sandbox: whole answers, streams, tools, and errors as its exceptions."""

from __future__ import annotations

from typing import Any

import pytest

litellm = pytest.importorskip("litellm")

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
BASES = {
    "openai/gpt-4o": "openai/v1",
    "anthropic/claude-sonnet-4-5": "anthropic",
    "gemini/gemini-2.5-flash": "gemini/v1beta",
    "mistral/mistral-large-latest": "mistral/v1",
    "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0": "bedrock",
    "bedrock/invoke/anthropic.claude-3-5-sonnet-20240620-v1:0": "bedrock",
    "azure/gpt-4o": "azure",
    "ollama_chat/llama3.1": "ollama",
    "deepseek/deepseek-chat": "deepseek",
    "xai/grok-4-1-fast-non-reasoning": "xai/v1",
    "groq/llama-3.3-70b-versatile": "groq/openai/v1",
    "cohere_chat/command-a-03-2025": "cohere/v2/chat",
    "moonshot/kimi-k2-0905-preview": "moonshot/v1",
    "zai/glm-4.6": "zai/api/paas/v4",
    "minimax/MiniMax-M2": "minimax/v1",
    "openrouter/anthropic/claude-haiku-4.5": "openrouter/api/v1",
    "perplexity/sonar": "perplexity",
    "hosted_vllm/strict": "strict/v1",
}
NO_TOOLS = {"perplexity/sonar"}
# LiteLLM reads the calls of a Cohere stream from another key than the one that Cohere sends.
NO_STREAMED_TOOLS = {"cohere_chat/command-a-03-2025"}


def ask(sandbox: Any, model: str, messages: list[Any], **more: Any) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
    keys = (
        keys | {"aws_bedrock_runtime_endpoint": sandbox.url("bedrock")}
        if "bedrock" in model
        else {}
    )
    if model.startswith("azure"):
        keys["api_version"] = "2024-10-21"
    base = None if "bedrock" in model else sandbox.url(BASES[model])
    return litellm.completion(
        model=model,
        messages=messages,
        api_key="any",
        api_base=base,
        num_retries=0,
        max_retries=0,
        **keys,
        **more,
    )


@pytest.fixture(autouse=True)
def new_connection_pool() -> None:
    """Start each test with a new HTTP client.

    LiteLLM does not close all streams. httpcore deadlocks if the garbage collector closes a stream
    while the same connection pool handles another request.
    """
    litellm.in_memory_llm_clients_cache.flush_cache()


@pytest.mark.parametrize("model", BASES)
def test_a_request_is_answered_and_has_usage(sandbox: Any, model: str) -> None:
    answer = ask(sandbox, model, [{"role": "user", "content": "hello there"}])
    assert "hello there" in answer.choices[0].message.content
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.completion_tokens > 0
    assert not sandbox.refusals


@pytest.mark.parametrize("model", BASES)
def test_a_stream_has_the_text_of_the_whole_answer(sandbox: Any, model: str) -> None:
    chunks = ask(sandbox, model, [{"role": "user", "content": "hello there"}], stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "hello there" in text


@pytest.mark.parametrize("model", [model for model in BASES if model not in NO_TOOLS])
def test_a_tool_loop_completes(sandbox: Any, model: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]
    first = ask(sandbox, model, messages, tools=[WEATHER]).choices[0]
    call = first.message.tool_calls[0]
    assert call.function.name == "get_weather"
    # LiteLLM converts Cohere's reason to "stop".
    assert first.finish_reason == "tool_calls" or model.startswith("cohere")
    messages += [first.message.model_dump(exclude_none=True)]
    messages += [
        {"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": "18 degrees"}
    ]
    second = ask(sandbox, model, messages, tools=[WEATHER]).choices[0]
    assert "18 degrees" in second.message.content
    assert not sandbox.refusals


@pytest.mark.parametrize(
    "model", [model for model in BASES if model not in {*NO_TOOLS, *NO_STREAMED_TOOLS}]
)
def test_a_streamed_tool_call_has_its_arguments(sandbox: Any, model: str) -> None:
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    chunks = list(ask(sandbox, model, messages, tools=[WEATHER], stream=True))
    whole = litellm.stream_chunk_builder(chunks)
    function = whole.choices[0].message.tool_calls[0].function
    assert (function.name, function.arguments.replace(" ", "")) == (
        "get_weather",
        '{"city":"city"}',
    )


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4o",
        "mistral/mistral-large-latest",
        "deepseek/deepseek-chat",
        "moonshot/kimi-k2-0905-preview",
        "zai/glm-4.6",
        "azure/gpt-4o",
    ],
)
def test_a_refusal_raises_litellms_bad_request_error(sandbox: Any, model: str) -> None:
    orphan = [
        {"role": "user", "content": "q"},
        {"role": "tool", "tool_call_id": "abcdefgh1", "content": "r"},
    ]
    with pytest.raises(litellm.BadRequestError):
        ask(sandbox, model, orphan)
    assert [verdict.status for verdict in sandbox.refusals] == [400]
