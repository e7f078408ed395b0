"""One more attempt after a refusal, through the real partner classes."""

from __future__ import annotations

import asyncio
import pickle
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

import chatmend
from chatmend.langchain import RepairMiddleware, mend
from chatmend.sandbox.signatures import sign

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from chatmend.sandbox import Sandbox

FORGED = sign("claude-opus-4-8", "another text")
"""Only the provider can tell that the signature is another text's."""
THINKING = {"type": "thinking", "thinking": "hm", "signature": FORGED}
HISTORY = [
    HumanMessage("q"),
    AIMessage([THINKING, {"type": "text", "text": "a"}]),
    HumanMessage("n"),
]
SEALED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": sign("gpt-5", "another item"),
}


def claude(sandbox: Sandbox, cls: type[ChatAnthropic] = ChatAnthropic) -> ChatAnthropic:
    return cls(
        model="claude-opus-4-8",
        api_key="any",
        base_url=sandbox.url("anthropic"),
        max_retries=0,
        max_tokens=99,
        timeout=TIMEOUT,
    )


def mended(sandbox: Sandbox, **options: Any) -> ChatAnthropic:
    return mend(claude(sandbox), on_error="raise", **{"react": 1, **options})


def statuses(sandbox: Sandbox) -> list[int]:
    return [verdict.status for verdict in sandbox.requests]


@pytest.fixture(scope="module", autouse=True)
def event_loop_of_the_module() -> Iterator[None]:
    yield
    RUNNER.close()


def joined(chunks: list[Any]) -> AIMessage:
    return sum(chunks[1:], chunks[0])


async def ainvoked(model: Any, turns: list[Any]) -> list[AIMessage]:
    return [await model.ainvoke(messages) for messages in turns]


async def astreamed(model: Any, turns: list[Any]) -> list[AIMessage]:
    return [joined([chunk async for chunk in model.astream(messages)]) for messages in turns]


RUNNER = asyncio.Runner()
"""One event loop for all tests, because langchain-anthropic shares its HTTP clients."""
TIMEOUT = 98.5
"""Seconds; with a value of its own, no client is shared with tests in other event loops."""
WAYS: dict[str, Callable[[Any, list[Any]], list[AIMessage]]] = {
    "invoke": lambda model, turns: [model.invoke(messages) for messages in turns],
    "ainvoke": lambda model, turns: RUNNER.run(ainvoked(model, turns)),
    "stream": lambda model, turns: [joined(list(model.stream(messages))) for messages in turns],
    "astream": lambda model, turns: RUNNER.run(astreamed(model, turns)),
    "batch": lambda model, turns: [model.batch([messages])[0] for messages in turns],
}
"""Each sends the turns of a conversation one after the other, and returns the answers."""


def test_messages_that_are_accepted_are_sent_once(sandbox: Sandbox) -> None:
    answer = mended(sandbox).invoke([HumanMessage("q")])
    assert statuses(sandbox) == [200]
    assert "chatmend" not in answer.response_metadata


@pytest.mark.parametrize("way", WAYS)
def test_a_refused_transcript_is_repaired_and_sent_again(sandbox: Sandbox, way: str) -> None:
    turns = [HISTORY, [*HISTORY, AIMessage("b"), HumanMessage("and?")]]
    answer, _ = WAYS[way](mended(sandbox), turns)
    assert statuses(sandbox) == [400, 200, 200], "the lesson holds for the next turns"
    assert FORGED not in str(sandbox.requests[-1].body)
    report = answer.response_metadata["chatmend"]
    assert report["reacted"] == 1
    assert [change["code"] for change in report["changes"]] == ["BLOCK001"]


class NativeEvents(ChatAnthropic):
    """A model that produces LangChain's typed events itself; no partner package does so yet."""

    def _stream_chat_model_events(self, *args: Any, **options: Any) -> Iterator[Any]:
        bridge = pytest.importorskip("langchain_core.language_models._compat_bridge")
        yield from bridge.chunks_to_events(super()._stream(*args, **options))

    async def _astream_chat_model_events(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        bridge = pytest.importorskip("langchain_core.language_models._compat_bridge")
        async for event in bridge.achunks_to_events(super()._astream(*args, **options)):
            yield event


@pytest.mark.parametrize("is_async", [False, True])
def test_a_refused_stream_of_typed_events_is_started_again(
    sandbox: Sandbox,
    is_async: bool,  # noqa: FBT001
) -> None:
    model = mend(claude(sandbox, NativeEvents), react=1, on_error="raise")

    async def read() -> list[Any]:
        return [event async for event in model._astream_chat_model_events(HISTORY)]

    events = RUNNER.run(read()) if is_async else list(model._stream_chat_model_events(HISTORY))
    assert statuses(sandbox) == [400, 200]
    assert FORGED not in str(sandbox.requests[-1].body)
    assert [event["event"] for event in events].count("message-start") == 1
    assert events[-1]["event"] == "message-finish"


def test_another_conversation_learns_by_itself(sandbox: Sandbox) -> None:
    model = mended(sandbox)
    model.invoke(HISTORY)
    model.invoke([HumanMessage("another opening"), *HISTORY[1:]])
    assert statuses(sandbox) == [400, 200, 400, 200]


@pytest.mark.parametrize("way", WAYS)
def test_without_react_the_refusal_is_raised(sandbox: Sandbox, way: str) -> None:
    with pytest.raises(anthropic.BadRequestError):
        WAYS[way](mended(sandbox, react=0), [HISTORY])
    assert statuses(sandbox) == [400]


def test_report_mode_sends_nothing_again(sandbox: Sandbox) -> None:
    with pytest.raises(anthropic.BadRequestError):
        mended(sandbox, mode="report").invoke(HISTORY)
    assert statuses(sandbox) == [400]


def test_an_error_that_is_not_about_the_messages_is_raised(sandbox: Sandbox) -> None:
    with pytest.raises(anthropic.BadRequestError):
        mended(sandbox).invoke([HumanMessage("q")], temperature=9)
    assert statuses(sandbox) == [400]


def test_items_of_the_responses_api(sandbox: Sandbox) -> None:
    bare = ChatOpenAI(
        model="gpt-5",
        api_key="any",
        base_url=sandbox.url("openai/v1"),
        max_retries=0,
        use_responses_api=True,
        store=False,
        output_version="responses/v1",
    )
    history = [
        HumanMessage("q"),
        AIMessage([SEALED, {"type": "text", "text": "a"}]),
        HumanMessage("n"),
    ]
    with pytest.raises(openai.BadRequestError):
        mend(bare).invoke(history)
    mend(bare, react=1).invoke(history)
    assert statuses(sandbox) == [400, 400, 200]
    assert SEALED["encrypted_content"] not in str(sandbox.requests[-1].body)


def test_a_bound_and_pickled_model_keeps_the_option(sandbox: Sandbox) -> None:
    model = pickle.loads(pickle.dumps(mended(sandbox)))  # noqa: S301 - made here
    model.bind(max_tokens=50).invoke(HISTORY)
    assert statuses(sandbox) == [400, 200]


def search(query: str) -> str:
    """Search."""
    return f"found {query}"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_with_the_middleware(sandbox: Sandbox, is_async: bool) -> None:  # noqa: FBT001
    middleware = [RepairMiddleware(react=1, on_error="raise")]
    agent = create_agent(claude(sandbox), tools=[search], middleware=middleware)
    state = {"messages": HISTORY}
    done = RUNNER.run(agent.ainvoke(state)) if is_async else agent.invoke(state)
    assert isinstance(done["messages"][-1], AIMessage)
    assert statuses(sandbox)[:2] == [400, 200]
    assert FORGED not in str(sandbox.requests[-1].body)


@pytest.mark.parametrize("value", [3, -1, "many", None])
def test_an_invalid_number_of_attempts_is_an_error(sandbox: Sandbox, value: Any) -> None:
    with pytest.raises(chatmend.PolicyError, match="react"):
        mended(sandbox, react=value)
