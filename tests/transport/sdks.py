"""One function for each SDK, which sends a broken conversation through a given HTTP client.

Each conversation has a tool call without a result in its middle, in the format of the SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
CHAT = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": "I look it up.",
        "tool_calls": [
            {
                "id": "abcdefgh1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "user", "content": "Never mind. And in Rome?"},
]
CLAUDE_CHAT = [
    CHAT[0],
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look it up."},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "get_weather",
                "input": {"city": "Paris"},
            },
        ],
    },
    CHAT[2],
]
CLAUDE_TOOL = {"name": "get_weather", "input_schema": SCHEMA}
ITEMS = [
    CHAT[0],
    {
        "type": "function_call",
        "call_id": "call_1",
        "name": "get_weather",
        "arguments": '{"city": "Paris"}',
    },
    CHAT[2],
]
CONTENTS = [
    {"role": "user", "parts": [{"text": "What is the weather in Paris and in Rome?"}]},
    {
        "role": "model",
        "parts": [
            {"function_call": {"name": "get_weather", "args": {"city": city}}}
            for city in ("Paris", "Rome")
        ],
    },
    {
        "role": "user",
        "parts": [{"function_response": {"name": "get_weather", "response": {"degrees": 18}}}],
    },
]
CONVERSE = [
    {"role": "user", "content": [{"text": "What is the weather in Paris?"}]},
    {
        "role": "assistant",
        "content": [
            {"toolUse": {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Paris"}}}
        ],
    },
    {"role": "user", "content": [{"text": "Never mind. And in Rome?"}]},
]
CONVERSE_TOOLS = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}}}]}


@dataclass(frozen=True)
class Sdk:
    """An SDK: how to send the broken conversation, and how its parts are named."""

    name: str
    path: str
    """The path of the provider in the sandbox."""
    provider: str
    send: Callable[[str, Any], Any]
    """Sends the conversation to a base URL through a client."""
    send_async: Callable[[str, Any], Any] | None = None
    library: str = "httpx"
    streams: Callable[[str, Any], list[Any]] | None = None
    """Sends it as a stream, and returns the events."""


def _openai(url: str, http: Any, **more: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    return client.chat.completions.create(model="gpt-4o", messages=CHAT, tools=[WEATHER], **more)


async def _openai_async(url: str, http: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    return await client.chat.completions.create(model="gpt-4o", messages=CHAT, tools=[WEATHER])


def _responses(url: str, http: Any, **more: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA}
    return client.responses.create(model="gpt-4.1", input=ITEMS, tools=[tool], **more)


async def _responses_async(url: str, http: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    return await client.responses.create(model="gpt-4.1", input=ITEMS)


def _azure(url: str, http: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.AzureOpenAI(
        azure_endpoint=url, api_key="k", api_version="2024-10-21", max_retries=0, http_client=http
    )
    return client.chat.completions.create(model="gpt-4o", messages=CHAT, tools=[WEATHER])


_CLAUDE = {
    "model": "claude-sonnet-4-6", "max_tokens": 500,
    "messages": CLAUDE_CHAT, "tools": [CLAUDE_TOOL],
}  # fmt: skip


def _anthropic(url: str, http: Any, **more: Any) -> Any:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, http_client=http)
    return client.messages.create(**_CLAUDE, **more)


async def _anthropic_async(url: str, http: Any) -> Any:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0, http_client=http)
    return await client.messages.create(**_CLAUDE)


def _vertex_claude(url: str, http: Any) -> Any:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.AnthropicVertex(
        region="us-east5", project_id="p", access_token="t", base_url=f"{url}/v1",
        max_retries=0, http_client=http,
    )  # fmt: skip
    return client.messages.create(**{**_CLAUDE, "model": "claude-haiku-4-5@20251001"})


def _mistral(url: str, http: Any) -> Any:
    mistral = pytest.importorskip("mistralai.client")
    client = mistral.Mistral(api_key="k", server_url=url, client=http)
    return client.chat.complete(model="mistral-large-latest", messages=CHAT, tools=[WEATHER])


async def _mistral_async(url: str, http: Any) -> Any:
    mistral = pytest.importorskip("mistralai.client")
    client = mistral.Mistral(api_key="k", server_url=url, async_client=http)
    return await client.chat.complete_async(model="mistral-large-latest", messages=CHAT)


def _mistral_stream(url: str, http: Any) -> list[Any]:
    mistral = pytest.importorskip("mistralai.client")
    client = mistral.Mistral(api_key="k", server_url=url, client=http)
    return list(client.chat.stream(model="mistral-large-latest", messages=CHAT, tools=[WEATHER]))


def _groq(url: str, http: Any) -> Any:
    groq = pytest.importorskip("groq")
    client = groq.Groq(api_key="k", base_url=url, max_retries=0, http_client=http)
    # Groq accepts calls without a result; it refuses a result that is a list without parts.
    messages = [*CHAT[:2], {"role": "tool", "tool_call_id": "abcdefgh1", "content": []}]
    return client.chat.completions.create(model="llama-3.3-70b", messages=messages, tools=[WEATHER])


def _together(url: str, http: Any, **more: Any) -> Any:
    together = pytest.importorskip("together")
    client = together.Together(api_key="k", base_url=url, max_retries=0, http_client=http)
    return client.chat.completions.create(model="gpt-4o", messages=CHAT, tools=[WEATHER], **more)


async def _together_async(url: str, http: Any) -> Any:
    together = pytest.importorskip("together")
    client = together.AsyncTogether(api_key="k", base_url=url, max_retries=0, http_client=http)
    return await client.chat.completions.create(model="gpt-4o", messages=CHAT, tools=[WEATHER])


# Fireworks refuses keys that are not in its API, such as the annotations of an answer of OpenAI.
_ANNOTATED = [CHAT[0], {"role": "assistant", "content": "x", "annotations": []}, CHAT[2]]
_LLAMA = "accounts/fireworks/models/llama-v3p1-8b-instruct"


def _fireworks(url: str, http: Any, **more: Any) -> Any:
    fireworks = pytest.importorskip("fireworks")
    client = fireworks.Fireworks(api_key="k", base_url=url, max_retries=0, http_client=http)
    return client.chat.completions.create(model=_LLAMA, messages=_ANNOTATED, **more)


async def _fireworks_async(url: str, http: Any) -> Any:
    fireworks = pytest.importorskip("fireworks")
    client = fireworks.AsyncFireworks(api_key="k", base_url=url, max_retries=0, http_client=http)
    return await client.chat.completions.create(model=_LLAMA, messages=_ANNOTATED)


# xAI accepts calls without a result; it refuses calls next to `content: null`.
_CALLED = [
    CHAT[0],
    {**CHAT[1], "content": None},
    {"role": "tool", "tool_call_id": "abcdefgh1", "content": "18 degrees"},
]
_GROK = "grok-4-1-fast-reasoning"


def _xai(url: str, http: Any, **more: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    return client.chat.completions.create(model=_GROK, messages=_CALLED, **more)


async def _xai_async(url: str, http: Any) -> Any:
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
    return await client.chat.completions.create(model=_GROK, messages=_CALLED)


def _cohere(url: str, http: Any) -> Any:
    cohere = pytest.importorskip("cohere")
    client = cohere.ClientV2(api_key="k", base_url=url, httpx_client=http)
    # Cohere accepts calls without a result; it refuses a result without a call.
    messages = [CHAT[0], {"role": "tool", "tool_call_id": "x", "content": "18 degrees"}]
    return client.chat(model="command-a-03-2025", messages=messages, tools=[WEATHER])


def _gemini(url: str, http: Any) -> Any:
    genai = pytest.importorskip("google.genai")
    options = {"base_url": url, "httpx_client": http}
    client = genai.Client(api_key="k", http_options=options)
    tool = {"function_declarations": [{"name": "get_weather", "parameters_json_schema": SCHEMA}]}
    return client.models.generate_content(
        model="gemini-2.5-flash", contents=CONTENTS, config={"tools": [tool]}
    )


async def _gemini_async(url: str, http: Any) -> Any:
    genai = pytest.importorskip("google.genai")
    options = {"base_url": url, "httpx_async_client": http}
    client = genai.Client(api_key="k", http_options=options)
    return await client.aio.models.generate_content(model="gemini-2.5-flash", contents=CONTENTS)


SDKS = [
    Sdk("openai", "openai/v1", "openai", _openai, _openai_async,
        streams=lambda url, http: list(_openai(url, http, stream=True))),
    Sdk("openai responses", "openai/v1", "openai", _responses, _responses_async,
        streams=lambda url, http: list(_responses(url, http, stream=True))),
    Sdk("azure", "azure", "azure", _azure),
    Sdk("anthropic", "anthropic", "anthropic", _anthropic, _anthropic_async, "httpx2",
        streams=lambda url, http: list(_anthropic(url, http, stream=True))),
    Sdk("vertex claude", "vertex", "vertex_ai", _vertex_claude, None, "httpx2"),
    Sdk("mistral", "mistral", "mistral", _mistral, _mistral_async, streams=_mistral_stream),
    Sdk("groq", "groq", "groq", _groq),
    Sdk("cohere", "cohere", "cohere", _cohere),
    Sdk("together", "openai", "together_ai", _together, _together_async,
        streams=lambda url, http: list(_together(url, http, stream=True))),
    Sdk("fireworks", "fireworks_ai", "fireworks_ai", _fireworks, _fireworks_async,
        streams=lambda url, http: list(_fireworks(url, http, stream=True))),
    Sdk("xai through openai", "xai/v1", "xai", _xai, _xai_async,
        streams=lambda url, http: list(_xai(url, http, stream=True))),
    Sdk("google-genai", "gemini", "gemini", _gemini, _gemini_async),
]  # fmt: skip
