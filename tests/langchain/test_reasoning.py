"""Models that refuse tool calls without their reasoning get it from every partner class.

The report only lists reasoning that was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain.agents")
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from chatmend.langchain import RepairMiddleware, mend, repair_messages
from tests.langchain.classes import Partner
from tests.langchain.loop import run

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENAI = {"api_key": "k", "max_retries": 0}
_DEEPSEEK = {"model": "deepseek-v4-flash", **_OPENAI}
_KIMI = {"model": "kimi-k2-thinking", **_OPENAI}
_VIA_DEEPSEEK, _VIA_KIMI = (
    _DEEPSEEK | {"model": "deepseek/deepseek-v4-flash"},
    _KIMI | {"model": "moonshot/kimi-k2-thinking"},
)
_ONE = {"model": "deepseek-v4-flash", "api_key": "k", "max_retries": 1}
SENDERS = {
    "deepseek": (Partner("langchain_deepseek.ChatDeepSeek", "deepseek", "api_base", _DEEPSEEK), None),
    "deepseek to kimi": (Partner("langchain_deepseek.ChatDeepSeek", "moonshot/v1", "api_base", _KIMI), "moonshot"),
    "openai to deepseek": (Partner("langchain_openai.ChatOpenAI", "deepseek", "base_url", _DEEPSEEK), "deepseek"),
    "openai to kimi": (Partner("langchain_openai.ChatOpenAI", "moonshot/v1", "base_url", _KIMI), "moonshot"),
    "xai to deepseek": (Partner("langchain_xai.ChatXAI", "deepseek", "xai_api_base", _DEEPSEEK), "deepseek"),
    "mistral to deepseek": (Partner("langchain_mistralai.ChatMistralAI", "deepseek", "endpoint", _ONE), "deepseek"),
    "litellm to deepseek": (
        Partner("langchain_litellm.ChatLiteLLM", "deepseek", "api_base", _VIA_DEEPSEEK),
        None,
    ),
    "litellm to kimi": (
        Partner("langchain_litellm.ChatLiteLLM", "moonshot/v1", "api_base", _VIA_KIMI),
        None,
    ),
}  # fmt: skip
"""Partner classes that send to hosts which require the reasoning of earlier calls.

The second value is the provider, where it can only be recognised by the address.
"""
ALL = pytest.mark.parametrize("name", SENDERS)
CALL = {"name": "get_weather", "args": {"city": "Paris"}, "id": "abcdefgh1", "type": "tool_call"}
THOUGHT = "Paris is in France."
QUESTION, RESULT = (
    HumanMessage("The weather in Paris?"),
    ToolMessage("18 degrees", tool_call_id="abcdefgh1"),
)


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 degrees in {city}"


def sender(sandbox: Any, name: str, **more: Any) -> tuple[Any, str | None]:
    partner, provider = SENDERS[name]
    return partner.model(
        sandbox.url(partner.wire), **more
    ), provider and f"{provider}/{partner.params['model']}"


def reasoning(sandbox: Any) -> Iterator[str | None]:
    """Yield the reasoning of each message with tool calls in the last request."""
    for message in sandbox.requests[-1].body["messages"]:
        if message.get("tool_calls"):
            yield message.get("reasoning_content")


def reported(answer: Any) -> list[tuple[str, bool]]:
    report = answer.response_metadata.get("chatmend", {"changes": []})
    return [(change["code"], change["applied"]) for change in report["changes"]]


@ALL
@pytest.mark.parametrize("streaming", [False, True])
def test_an_agent_with_a_clean_history_completes_its_run(
    sandbox: Any,
    name: str,
    streaming: bool,  # noqa: FBT001 - a pytest parameter
) -> None:
    model, target = sender(sandbox, name, streaming=streaming)
    out = create_agent(mend(model, target=target), [get_weather]).invoke(
        {"messages": "What is the weather in Paris?"}
    )
    assert [verdict.status for verdict in sandbox.requests] == [200, 200]
    (kept,) = [
        message.additional_kwargs.get("reasoning_content") for message in out["messages"][1:2]
    ]
    (sent,) = reasoning(sandbox)
    assert sent == (kept or " ")
    assert (("THINK002", True) in reported(out["messages"][-1])) is not bool(kept)


@ALL
@pytest.mark.parametrize("kept", [THOUGHT, None])
def test_every_kind_of_call_sends_the_reasoning(sandbox: Any, name: str, kept: str | None) -> None:
    bare, target = sender(sandbox, name)
    model = mend(bare, target=target)
    kwargs = {"reasoning_content": kept} if kept else {}
    history = [QUESTION, AIMessage("", tool_calls=[CALL], additional_kwargs=kwargs), RESULT]

    async def awaited() -> list[Any]:
        whole = await model.ainvoke(history)
        chunks = [chunk async for chunk in model.astream(history)]
        return [whole, chunks[0]]

    answers = [model.invoke(history), next(iter(model.stream(history))), *run(awaited())]
    assert not sandbox.refusals
    for answer, verdict in zip(answers, sandbox.requests, strict=True):
        (sent,) = [
            message["reasoning_content"]
            for message in verdict.body["messages"]
            if message.get("tool_calls")
        ]
        assert sent == (kept or " ")
        assert reported(answer) == ([] if kept else [("THINK002", True)])
    assert history[1].additional_kwargs == kwargs


@pytest.mark.parametrize("name", ["deepseek", "openai to kimi", "litellm to kimi"])
def test_the_middleware_sends_the_reasoning_with_a_bare_model(sandbox: Any, name: str) -> None:
    model, target = sender(sandbox, name)
    agent = create_agent(
        model, [get_weather], middleware=[RepairMiddleware(target=target, on_error="raise")]
    )
    agent.invoke({"messages": "What is the weather in Paris?"})
    assert [verdict.status for verdict in sandbox.requests] == [200, 200]
    run(agent.ainvoke({"messages": "What is the weather in Rome?"}))
    assert not sandbox.refusals


def test_reasoning_is_not_sent_to_other_hosts(sandbox: Any) -> None:
    model = mend(Partner("langchain_openai.ChatOpenAI", "openai/v1", "base_url", {"model": "gpt-4o", **_OPENAI}).model(
        sandbox.url("openai/v1")
    ))  # fmt: skip
    kwargs = {"reasoning_content": THOUGHT}
    answer = model.invoke(
        [QUESTION, AIMessage("", tool_calls=[CALL], additional_kwargs=kwargs), RESULT]
    )
    assert reported(answer) == []
    assert list(reasoning(sandbox)) == [None]
    model.invoke([QUESTION, AIMessage("", additional_kwargs=kwargs), HumanMessage("and?")])
    assert not sandbox.refusals


def test_report_mode_sends_what_the_bare_model_sends(sandbox: Any) -> None:
    bare, _ = sender(sandbox, "deepseek")
    history = [
        QUESTION,
        AIMessage("", tool_calls=[CALL], additional_kwargs={"reasoning_content": THOUGHT}),
        RESULT,
    ]
    for model in (bare, mend(bare, mode="report")):
        with pytest.raises(Exception, match="reasoning_content"):
            model.invoke(history)
    one, two = (verdict.body for verdict in sandbox.requests)
    assert one == two


def test_reasoning_stays_in_a_stored_history_that_is_repaired() -> None:
    """Rules on the whole history read its messages first; these must be read with their reasoning."""
    calls = [CALL, CALL | {"id": "abcdefgh2"}]
    answer = AIMessage("", tool_calls=calls, additional_kwargs={"reasoning_content": THOUGHT})
    second = ToolMessage("19 degrees", tool_call_id="abcdefgh2")
    history = [QUESTION, answer, second, second, RESULT]
    repaired = repair_messages(history, target="moonshot/kimi-k2-thinking", policy="offline")
    assert repaired == [QUESTION, answer, second, RESULT]
    assert repaired[1] is answer


class HidesPayload(BaseChatModel):
    """A custom class whose request payload chatmend cannot observe."""

    model: str = "deepseek-v4-flash"

    @property
    def _llm_type(self) -> str:
        return "own"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Hello."))])


def test_a_change_that_is_not_in_an_observed_payload_is_not_reported_as_applied(
    caplog: pytest.LogCaptureFixture,
) -> None:
    history = [QUESTION, AIMessage("", tool_calls=[CALL]), RESULT]
    answer = mend(HidesPayload(), target="deepseek/deepseek-v4-flash").invoke(history)
    (change,) = answer.response_metadata["chatmend"]["changes"]
    assert (change["code"], change["applied"]) == ("THINK002", False)
    assert "does not send" in change["why"]
    with caplog.at_level("INFO", "chatmend.langchain"):
        repair_messages(history, target="deepseek/deepseek-v4-flash")
    assert "THINK002" not in caplog.text
