"""Agents with broken histories: the provider accepts their requests; their state is unchanged."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain.agents")
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent

from chatmend.langchain import RepairMiddleware, mend, repair_node
from chatmend.sandbox import Reply
from tests.langchain.classes import DESTINATIONS
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE, ONE, Q, assistant_calls, tool_result
from tests.langchain.loop import run
from tests.langchain.test_damage import look
from tests.langchain.test_dialect import state
from tests.scale import sampled

ALL = pytest.mark.parametrize("name", CONFIGURATIONS)
BROKEN = DAMAGE["one of two calls unanswered"]
HERE: Any = {"configurable": {"thread_id": "1"}}

LEGACY_ROWS = sorted(set(DAMAGE) - {"nothing but a system prompt"})
"""The histories that ``repair_node`` must repair for ``create_react_agent``.

The agent checks its state before it calls the model. A lone system prompt is excluded: the node
adds a user message, which the agent then requires in its state.
"""
HISTORIES = list(product(DAMAGE, CONFIGURATIONS))
LEGACY_HISTORIES = list(product(LEGACY_ROWS, CONFIGURATIONS))


@pytest.mark.parametrize(("row", "name"), sampled(HISTORIES, HISTORIES[::3]))
def test_the_middleware_makes_every_broken_history_acceptable(
    sandbox: Any, name: str, row: str
) -> None:
    agent = create_agent(
        CONFIGURATIONS[name].model(sandbox), [look], middleware=[RepairMiddleware(on_error="raise")]
    )
    given = DAMAGE[row]
    out = agent.invoke({"messages": given})["messages"]
    assert isinstance(out[-1], AIMessage)
    if row != "cut off arguments":  # LangChain adds an error result for these to the state
        assert state(out[:-1]) == state(given)
    assert not sandbox.refusals


@pytest.mark.parametrize(("row", "name"), sampled(LEGACY_HISTORIES, LEGACY_HISTORIES[::3]))
@pytest.mark.filterwarnings("ignore:create_react_agent")
def test_the_node_makes_every_broken_history_acceptable_to_the_legacy_agent(
    sandbox: Any, name: str, row: str
) -> None:
    model = CONFIGURATIONS[name].model(sandbox)
    agent = create_react_agent(model, [look], pre_model_hook=repair_node(model, on_error="raise"))
    assert agent.invoke({"messages": DAMAGE[row]})["messages"]
    assert not sandbox.refusals


def _agents(sandbox: Any, name: str) -> dict[str, Any]:
    """Return an agent with a wrapped model and one with the middleware, both with checkpoints."""
    model = CONFIGURATIONS[name].model(sandbox)
    return {
        "mend": create_agent(mend(model, on_error="raise"), [look], checkpointer=InMemorySaver()),
        "middleware": create_agent(
            model,
            [look],
            middleware=[RepairMiddleware(on_error="raise")],
            checkpointer=InMemorySaver(),
        ),
    }


@ALL
@pytest.mark.parametrize("how", ["mend", "middleware"])
def test_a_run_continues_from_a_broken_checkpoint_and_does_not_change_it(
    sandbox: Any, name: str, how: str
) -> None:
    agent = _agents(sandbox, name)[how]
    agent.update_state(HERE, {"messages": deepcopy(BROKEN)})
    before = agent.get_state(HERE).values["messages"]
    answer = agent.invoke({"messages": [HumanMessage("hello")]}, HERE)["messages"][-1]
    after = agent.get_state(HERE).values["messages"]
    assert state(after[: len(before)]) == state(before)
    assert len(after) == len(before) + 2
    assert "hello" in answer.text
    assert not sandbox.refusals


@ALL
@pytest.mark.parametrize("how", ["mend", "middleware"])
def test_async_and_streamed_runs_are_accepted(sandbox: Any, name: str, how: str) -> None:
    async def ask() -> list[Any]:
        agent = _agents(sandbox, name)[how]
        await agent.aupdate_state(HERE, {"messages": deepcopy(BROKEN)})
        given: Any = {"messages": [HumanMessage("hello")]}
        return [piece async for piece in agent.astream(given, HERE, stream_mode="messages")]

    assert "hello" in "".join(message.text for message, _ in run(ask()))
    assert not sandbox.refusals


class DropToolResults(AgentMiddleware):
    """Drops tool results inside the agent loop, as a faulty trimming middleware does."""

    def before_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002 - LangChain's signature
        dropped = [message for message in state["messages"] if isinstance(message, ToolMessage)]
        return (
            {"messages": [RemoveMessage(id=message.id) for message in dropped]} if dropped else None
        )


def test_damage_made_inside_the_loop_is_repaired(sandbox: Any) -> None:
    sandbox.script([Reply(calls=(("look", {"at": "Paris"}),)), Reply(text="done")])
    model = CONFIGURATIONS["openai"].model(sandbox)
    agent = create_agent(
        model, [look], middleware=[DropToolResults(), RepairMiddleware(on_error="raise")]
    )
    out = agent.invoke({"messages": [Q]})["messages"]
    assert out[-1].text == "done"
    assert not any(isinstance(message, ToolMessage) for message in out)
    assert not sandbox.refusals


def _failing(sandbox: Any) -> Any:
    """Return a model whose address does not exist."""
    return CONFIGURATIONS["openai"].load()(
        model="gpt-4o", api_key="k", base_url=sandbox.url("nowhere"), max_retries=0
    )


def test_a_fallback_to_another_provider_in_the_middle_of_a_conversation_is_accepted(
    sandbox: Any,
) -> None:
    history = [
        Q,
        assistant_calls("call_of_openai|fc_1"),
        tool_result("call_of_openai|fc_1"),
        HumanMessage("so?"),
    ]
    for other in ("mistral", "anthropic", "gemini"):
        spare = CONFIGURATIONS[other].model(sandbox)
        for agent in (
            create_agent(
                _failing(sandbox),
                [look],
                middleware=[ModelFallbackMiddleware(spare), RepairMiddleware(on_error="raise")],
            ),
            create_agent(
                mend(_failing(sandbox)), [look], middleware=[ModelFallbackMiddleware(mend(spare))]
            ),
        ):
            assert agent.invoke(
                {"messages": [*history, assistant_calls(ONE), HumanMessage("hello")]}
            )["messages"][-1].text
            assert all(verdict.status == 404 for verdict in sandbox.refusals)


def test_the_middleware_raises_if_it_is_listed_before_a_fallback(
    sandbox: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    agent = create_agent(
        model, [look], middleware=[RepairMiddleware(), ModelFallbackMiddleware(model)]
    )
    with pytest.raises(ValueError, match="list RepairMiddleware last"):
        agent.invoke({"messages": [Q]})
    with pytest.raises(ValueError, match="list RepairMiddleware last"):
        run(agent.ainvoke({"messages": [Q]}))
    monkeypatch.setenv("CHATMEND_DISABLED", "1")
    assert agent.invoke({"messages": [Q]})["messages"][-1].text


def test_a_wrapped_model_with_the_middleware_sends_what_the_middleware_alone_sends(
    sandbox: Any,
) -> None:
    model = CONFIGURATIONS["openai"].model(sandbox)
    for agent in (
        create_agent(model, [look], middleware=[RepairMiddleware()]),
        create_agent(mend(model), [look], middleware=[RepairMiddleware()]),
    ):
        agent.invoke({"messages": deepcopy(BROKEN)})
    one, other = (verdict.body for verdict in sandbox.requests)
    assert one == other


def test_a_system_prompt_of_the_agent_counts_as_the_system_message(sandbox: Any) -> None:
    model = CONFIGURATIONS["mistral"].model(sandbox)
    agent = create_agent(
        model, [look], system_prompt="be kind", middleware=[RepairMiddleware(on_error="raise")]
    )
    assert agent.invoke({"messages": DAMAGE["system in the middle"]})["messages"][-1].text
    assert sandbox.requests[0].body["messages"][0] == {"role": "system", "content": "be kind"}
    assert not sandbox.refusals


@ALL
def test_a_custom_graph_continues_from_a_broken_checkpoint(sandbox: Any, name: str) -> None:
    model = mend(CONFIGURATIONS[name].model(sandbox).bind_tools([look]), on_error="raise")
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "model")
    built = graph.compile(checkpointer=InMemorySaver())
    built.update_state(HERE, {"messages": deepcopy(BROKEN)})
    assert built.invoke({"messages": [HumanMessage("hello")]}, HERE)["messages"][-1].text
    assert not sandbox.refusals


def test_a_configurable_model_is_repaired_for_every_model_it_selects(sandbox: Any) -> None:
    pytest.importorskip("langchain_mistralai")
    values = {"model_provider": "openai", "api_key": "k", "base_url": sandbox.url("openai/v1")}
    model = init_chat_model("gpt-4o", configurable_fields=("model",), **values)
    wrapped = mend(model, on_error="raise")
    for runnable in (wrapped, wrapped.bind_tools([look]), wrapped.with_config({"tags": ["t"]})):
        assert runnable.invoke(
            BROKEN, config={"configurable": {"model": "gpt-4o-mini"}}
        ).response_metadata
    assert create_agent(wrapped, [look]).invoke({"messages": deepcopy(BROKEN)})["messages"][-1].text
    assert {verdict.model for verdict in sandbox.requests} == {"gpt-4o", "gpt-4o-mini"}
    assert not sandbox.refusals


def test_deep_agents_recognise_the_class_of_a_wrapped_model(sandbox: Any) -> None:
    deepagents = pytest.importorskip("deepagents")
    model = mend(CONFIGURATIONS["anthropic"].model(sandbox), on_error="raise")
    agent = deepagents.create_deep_agent(model=model, tools=[look])
    assert agent.invoke({"messages": deepcopy(BROKEN)})["messages"][-1].text
    assert "cache_control" in str(sandbox.requests[-1].body)
    assert not sandbox.refusals


CACHING = {
    "anthropic": ("langchain_anthropic.middleware", "AnthropicPromptCachingMiddleware"),
    "bedrock claude": ("langchain_aws.middleware", "BedrockPromptCachingMiddleware"),
    "bedrock nova": ("langchain_aws.middleware", "BedrockPromptCachingMiddleware"),
    "bedrock invoke": ("langchain_aws.middleware", "BedrockPromptCachingMiddleware"),
}


@pytest.mark.parametrize("name", CACHING)
def test_the_markers_of_a_caching_middleware_are_sent(sandbox: Any, name: str) -> None:
    module, cls = CACHING[name]
    caching = getattr(pytest.importorskip(module), cls)(min_messages_to_cache=0)
    bodies = []
    bare = DESTINATIONS[name].model(sandbox)
    for model in (bare, mend(bare, on_error="raise")):
        agent = create_agent(model, [look], system_prompt="Be kind.", middleware=[caching])
        agent.invoke({"messages": [HumanMessage("hello")]})
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert "cache_control" in str(bodies[0]) or "cachePoint" in str(bodies[0])
    assert not sandbox.refusals


def test_the_marker_of_the_whole_request_counts_as_one_of_four(sandbox: Any) -> None:
    """The middleware marks the system prompt, the last tool and the whole request."""
    module, cls = CACHING["anthropic"]
    caching = getattr(pytest.importorskip(module), cls)(min_messages_to_cache=0)
    marker = {"cache_control": {"type": "ephemeral"}}
    marked = [HumanMessage([{"type": "text", "text": text, **marker}]) for text in ("a", "b")]
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    agent = create_agent(model, [look], system_prompt="Be kind.", middleware=[caching])
    agent.invoke({"messages": [marked[0], AIMessage("ok"), marked[1]]})
    assert str(sandbox.requests[-1].body).count("cache_control") == 4
    assert not sandbox.refusals
