"""The wrapper for models of the OpenAI Agents SDK, with the real runner against the sandbox."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from chatmend.errors import PolicyError, TargetError
from tests.transport.sdks import ITEMS

pytest.importorskip("agents", reason="`make doors` runs these tests")

from agents import (
    Agent,
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, BadRequestError

from chatmend.integrations.openai_agents import RepairedModel
from chatmend.sandbox import Reply

set_tracing_disabled(disabled=True)
CLASSES = [OpenAIResponsesModel, OpenAIChatCompletionsModel]


@pytest.fixture
def url(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    found: str = sandbox.url("openai/v1")
    monkeypatch.setenv("CHATMEND_HOSTS", f"{found}=openai")
    return found


def bare(url: str, kind: Any = OpenAIResponsesModel) -> Any:
    return kind("gpt-4.1", AsyncOpenAI(base_url=url, api_key="k", max_retries=0))


@function_tool
def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"18 degrees in {city}"


def run(model: Any, items: Any = ITEMS, **options: Any) -> Any:
    return asyncio.run(Runner.run(Agent(name="a", model=model, **options), items))


async def run_streamed(model: Any, items: Any = ITEMS, **options: Any) -> tuple[Any, int]:
    result = Runner.run_streamed(Agent(name="a", model=model, **options), items)
    events = [event async for event in result.stream_events()]
    return result.final_output, len(events)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_broken_conversation_is_refused_without_and_accepted_with_the_wrapper(
    kind: Any, url: str, sandbox: Any
) -> None:
    with pytest.raises(BadRequestError):
        run(bare(url, kind))
    sandbox.clear()
    changes: list[Any] = []
    model = RepairedModel(bare(url, kind), on_error="raise", on_changes=changes.extend)
    assert "And in Rome?" in run(model).final_output
    assert [change.code for change in changes] == ["TOOL007"]
    output, events = asyncio.run(run_streamed(RepairedModel(bare(url, kind), on_error="raise")))
    assert "And in Rome?" in output
    assert events > 1
    assert not sandbox.refusals


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_tools_and_handoffs_work(kind: Any, url: str, sandbox: Any, *, is_streamed: bool) -> None:
    model = RepairedModel(bare(url, kind), on_error="raise")
    other = Agent(name="other", model=model, tools=[get_weather])
    calls = [("transfer_to_other", {})], [("get_weather", {"city": "Rome"})]
    sandbox.script([*(Reply(calls=tuple(call)) for call in calls), Reply("18 degrees")])
    if is_streamed:
        output, _ = asyncio.run(run_streamed(model, handoffs=[other]))
    else:
        result = run(model, handoffs=[other])
        assert result.last_agent is other
        output = result.final_output
    assert output == "18 degrees"
    assert len(sandbox.requests) == 3
    assert not sandbox.refusals


def test_a_session_keeps_the_original_items(url: str, sandbox: Any) -> None:
    async def chat() -> list[Any]:
        session = SQLiteSession("s")
        await session.add_items(list(ITEMS))
        agent = Agent(name="a", model=RepairedModel(bare(url), on_error="raise"))
        await Runner.run(agent, "Really?", session=session)
        return await session.get_items()

    items = asyncio.run(chat())
    assert items[: len(ITEMS)] == ITEMS
    assert not sandbox.refusals


class Spy(Model):
    """A model that keeps what it is called with."""

    model = "gpt-5"

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    async def get_response(self, _instructions: Any, items: Any, *_: Any, **__: Any) -> Any:
        self.inputs.append(items)
        raise KeyError

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise KeyError


def input_after(items: Any, **options: Any) -> Any:
    spy = Spy()
    with pytest.raises(KeyError):
        run(RepairedModel(spy, **options), items)
    return spy.inputs[0]


def test_clean_and_reported_and_disabled_conversations_pass_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert input_after("hi") == [{"content": "hi", "role": "user"}]
    clean = [ITEMS[0]]
    assert input_after(clean) == clean
    seen: list[Any] = []
    assert input_after(ITEMS, mode="report", on_changes=seen.extend) == ITEMS
    assert [change.code for change in seen] == ["TOOL007"]
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    assert input_after(ITEMS) == ITEMS


def test_a_failure_of_chatmend_sends_the_original(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("chatmend.integrations.transcript_repair.repair", fail)
    assert input_after(ITEMS) == ITEMS
    assert "ZeroDivisionError" in caplog.text
    assert "Paris" not in caplog.text


def test_a_model_of_litellm_gets_what_its_provider_accepts() -> None:
    class Other(Spy):
        model = "mistral/mistral-large-latest"

    spy = Other()
    items = json.loads(json.dumps(ITEMS).replace("call_1", "call-of-another-provider"))
    with pytest.raises(KeyError):
        run(RepairedModel(spy), items)
    [call] = [item for item in spy.inputs[0] if item.get("type") == "function_call"]
    [result] = [item for item in spy.inputs[0] if item.get("type") == "function_call_output"]
    assert call["call_id"] == result["call_id"]


def test_wrong_options_raise_when_the_model_is_made() -> None:
    with pytest.raises(PolicyError):
        RepairedModel(Spy(), policy="strct")
    with pytest.raises(TargetError):
        RepairedModel(Spy(), target="antropic/claude", on_error="raise")
