"""Frameworks that are built on SDKs, each with its real classes against the sandbox.

``make doors`` runs these tests in an environment of their own; elsewhere most are skipped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from chatmend.transport import async_client, client
from chatmend.transport.calls import EXTENSION
from tests.offline import go_offline
from tests.transport.sdks import CHAT, CONTENTS, ITEMS, WEATHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

go_offline()
pytest.importorskip("llama_index", reason="`make doors` runs these tests")

CALLS = CHAT[1]["tool_calls"]


def refused_without(send: Callable[[], Any], sandbox: Any) -> None:
    with pytest.raises(Exception, match=r"."):
        send()
    assert sandbox.refusals
    sandbox.clear()


@pytest.fixture
def openai_url(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    url: str = sandbox.url("openai/v1")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}=openai")
    return url


@pytest.fixture
def installed() -> Iterator[None]:
    """Install LiteLLM's callback. ADK must find it when it imports LiteLLM's functions."""
    from chatmend.litellm import install, uninstall

    install()
    yield
    uninstall()


def test_llama_index(openai_url: str, sandbox: Any) -> None:
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai import OpenAI

    call = ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": CALLS})
    history = [ChatMessage(role="user", content="a"), call, ChatMessage(role="user", content="b")]

    def model(**clients: Any) -> Any:
        return OpenAI("gpt-4o", api_base=openai_url, api_key="k", max_retries=0, **clients)

    refused_without(lambda: model().chat(history), sandbox)
    mended = model(http_client=client(), async_http_client=async_client())
    assert mended.chat(history).message.content
    assert len(list(mended.stream_chat(history))) > 1
    assert asyncio.run(mended.achat(history)).message.content
    assert not sandbox.refusals


def test_smolagents(openai_url: str, sandbox: Any) -> None:
    from smolagents import OpenAIServerModel

    history = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "I look it up.", "tool_calls": CALLS},
        {"role": "user", "content": "b"},
    ]

    def model(**options: Any) -> Any:
        kwargs = {"max_retries": 0, **options}
        return OpenAIServerModel("gpt-4o", api_base=openai_url, api_key="k", client_kwargs=kwargs)

    def send(wrapped: Any) -> Any:
        # `generate` itself sends only roles and contents of a history.
        return wrapped.client.chat.completions.create(model="gpt-4o", messages=history)

    refused_without(lambda: send(model()), sandbox)
    repaired = model(http_client=client())
    assert send(repaired).choices
    assert repaired.generate(history).content
    assert not sandbox.refusals


def test_dspy_through_litellm(openai_url: str, sandbox: Any) -> None:
    import dspy

    from chatmend.litellm import install, uninstall

    def model(engine: str) -> Any:
        return dspy.LM(
            "openai/gpt-4o",
            api_base=openai_url,
            api_key="k",
            cache=False,
            num_retries=0,
            engine=engine,
        )

    refused_without(lambda: model("litellm")(messages=CHAT), sandbox)
    install()
    try:
        assert model("litellm")(messages=CHAT)
        assert asyncio.run(model("litellm").acall(messages=CHAT))
        assert not sandbox.refusals
        # DSPy's own engine uses neither httpx nor LiteLLM.
        refused_without(lambda: model("lm15")(messages=CHAT), sandbox)
    finally:
        uninstall()


def test_crewai_through_litellm(openai_url: str, sandbox: Any, installed: None) -> None:
    from crewai import LLM

    from chatmend.litellm import uninstall

    model = LLM(model="openai/gpt-4o", base_url=openai_url, api_key="k", is_litellm=True)
    assert model.call(CHAT)
    assert not sandbox.refusals
    uninstall()
    refused_without(lambda: model.call(CHAT), sandbox)


def test_google_adk(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.adk.models import Gemini
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    url = sandbox.url("gemini")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}=gemini")
    contents = [types.Content.model_validate(content) for content in CONTENTS]

    def answers(http: Any = None, *, stream: bool = False) -> list[Any]:
        options = types.HttpOptions(httpx_async_client=http)
        kwargs = {"api_key": "k", "http_options": options}
        model = Gemini(model="gemini-2.5-flash", base_url=url, client_kwargs=kwargs)
        request = LlmRequest(model="gemini-2.5-flash", contents=contents)

        async def collect() -> list[Any]:
            return [one async for one in model.generate_content_async(request, stream=stream)]

        return asyncio.run(collect())

    refused_without(answers, sandbox)
    assert answers(async_client())[0].content.parts[0].text
    assert len(answers(async_client(), stream=True)) > 1
    assert not sandbox.refusals


def test_google_adk_through_litellm(openai_url: str, sandbox: Any, installed: None) -> None:
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.models.llm_request import LlmRequest
    from google.genai import types

    contents = [types.Content.model_validate(content) for content in CONTENTS]
    model = LiteLlm(model="openai/gpt-4o", api_base=openai_url, api_key="k")

    async def collect() -> list[Any]:
        request = LlmRequest(model="openai/gpt-4o", contents=contents)
        return [one async for one in model.generate_content_async(request)]

    assert asyncio.run(collect())[0].content.parts[0].text
    assert not sandbox.refusals


@pytest.mark.parametrize("kind", ["responses", "chat"])
def test_openai_agents_with_a_client(kind: str, openai_url: str, sandbox: Any) -> None:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(disabled=True)
    model_class = OpenAIResponsesModel if kind == "responses" else OpenAIChatCompletionsModel

    async def run(http: Any = None) -> Any:
        sdk = AsyncOpenAI(base_url=openai_url, api_key="k", max_retries=0, http_client=http)
        return await Runner.run(Agent(name="a", model=model_class("gpt-4.1", sdk)), list(ITEMS))

    refused_without(lambda: asyncio.run(run()), sandbox)
    assert asyncio.run(run(async_client())).final_output
    assert not sandbox.refusals


def test_pydantic_ai_with_a_client(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    url = sandbox.url("anthropic")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}=anthropic")
    history = [
        ModelRequest([UserPromptPart(" ")]),
        ModelResponse([TextPart("How can I help?")]),
    ]

    def run(**clients: Any) -> Any:
        provider = AnthropicProvider(api_key="k", base_url=url, **clients)
        agent = Agent(AnthropicModel("claude-sonnet-4-6", provider=provider))
        return agent.run_sync("And in Rome?", message_history=history).output

    refused_without(run, sandbox)
    assert run(http_client=async_client("httpx2"))
    assert not sandbox.refusals


def _together(url: str, http: Any) -> Any:
    import together

    return together.Together(api_key="k", base_url=url, max_retries=0, http_client=http)


def _fireworks(url: str, http: Any) -> Any:
    import fireworks

    return fireworks.Fireworks(api_key="k", base_url=url, max_retries=0, http_client=http)


@pytest.mark.parametrize(
    ("make", "path", "provider"),
    [(_together, "openai", "together_ai"), (_fireworks, "fireworks_ai", "fireworks_ai")],
    ids=["together", "fireworks"],
)
def test_sdks_react_to_a_refusal(
    make: Any, path: str, provider: str, sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = sandbox.url(path)
    monkeypatch.setenv("CHATMEND_HOSTS", f"{url}={provider}")
    sandbox.refuse(
        lambda body: any("name" in message for message in body["messages"]),
        "Unknown parameter: 'messages[0].name'.",
    )
    http = client(react=1)
    reacted: list[int] = []
    http.event_hooks = {"response": [lambda r: reacted.append(r.extensions[EXTENSION].reacted)]}
    messages = [{"role": "user", "name": "ann", "content": "hi"}]
    for _ in range(2):
        answer = make(url, http).chat.completions.create(
            model="gpt-4o", messages=messages, tools=[WEATHER]
        )
        assert answer.choices
    assert reacted == [1, 0]
    assert len(sandbox.refusals) == 1
