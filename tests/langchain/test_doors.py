"""Model, middleware, node and transformer send the same requests and report the same changes."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain.agents")
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from chatmend.langchain import RepairMiddleware, mend, repair_messages, repair_node
from tests.langchain.configurations import CONFIGURATIONS
from tests.langchain.damage import DAMAGE, TWO, VALID, assistant_calls, tool_result
from tests.langchain.loop import run
from tests.langchain.test_damage import look
from tests.scale import sampled

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent")
MODES = ("new", "counts", "all", "off")
# The agents change these before they call the model: they add a result, or check the state.
CHANGED = {"cut off arguments", "dangling call at the end", "nothing but a system prompt"}
# The agent with the node accepts calls and results only in separate messages; an answer at the end
# does not hold the report of the node.
NOT_FOR_NODES = {
    "a call in the content alone",
    "results in a user message",
    "a result block without content",
    "assistant last",
}
AGENT_ROWS = sorted(set(DAMAGE) - CHANGED)
ALL = list(product(AGENT_ROWS, CONFIGURATIONS))


def by_model(model: Any, tools: list[Any], history: Any, target: str, **options: Any) -> Any:
    wrapped = mend(model, target=target, **options)
    return _report((wrapped.bind_tools(tools) if tools else wrapped).invoke(history))


def by_middleware(model: Any, tools: list[Any], history: Any, target: str, **options: Any) -> Any:
    middleware = RepairMiddleware(target=target, **options)
    agent = create_agent(model, tools, middleware=[middleware])
    return _report(agent.invoke({"messages": history})["messages"][-1])


def by_transformer(model: Any, tools: list[Any], history: Any, target: str, **options: Any) -> Any:
    bound = model.bind_tools(tools) if tools else model
    return _report((repair_messages(target=target, **options) | bound).invoke(history))


def by_node(model: Any, tools: list[Any], history: Any, target: str, **options: Any) -> Any:
    node = repair_node(mend(model, target=target), tools=tools, **options)
    agent = create_react_agent(model, tools, pre_model_hook=node)
    steps = list(agent.stream({"messages": history}, stream_mode="updates"))
    return _report(steps[0]["pre_model_hook"]["llm_input_messages"][-1])


def by_node_and_model(model: Any, tools: list[Any], history: Any, target: str, **opts: Any) -> Any:
    wrapped = mend(model, target=target, **opts)
    agent = create_react_agent(wrapped, tools, pre_model_hook=repair_node(wrapped, **opts))
    return _report(agent.invoke({"messages": history})["messages"][-1])


def by_step(model: Any, tools: list[Any], history: Any, target: str, **options: Any) -> Any:
    first = RunnableLambda(lambda messages: messages)
    wrapped = mend(model, target=target, **options)
    bound = wrapped.bind_tools(tools) if tools else wrapped
    return _report((first | repair_messages(target=target, **options) | bound).invoke(history))


DOORS: dict[str, Callable[..., Any]] = {
    "middleware": by_middleware,
    "transformer": by_transformer,
    "node": by_node,
    "node and model": by_node_and_model,
    "step and model": by_step,
}


def _report(message: BaseMessage) -> Any:
    return message.response_metadata.get("chatmend")


def sent(sandbox: Any) -> Any:
    """Return the messages of the last request."""
    body = sandbox.requests[-1].body
    keys = ("system", "messages", "input", "contents", "systemInstruction")
    return {key: body[key] for key in keys if key in body}


@pytest.mark.parametrize(("row", "name"), sampled(ALL, ALL[::5]))
def test_every_door_sends_and_reports_the_same(sandbox: Any, row: str, name: str) -> None:
    configuration = CONFIGURATIONS[name]
    model, target = configuration.model(sandbox), configuration.target
    options: Any = {"on_error": "raise", "report": "all"}
    report = by_model(model, [look], DAMAGE[row], target, **options)
    expected = sent(sandbox)
    for door, call in DOORS.items():
        if row in NOT_FOR_NODES and door in ("node", "node and model", "step and model"):
            continue
        assert call(model, [look], DAMAGE[row], target, **options) == report, door
        assert sent(sandbox) == expected, door
    assert not sandbox.refusals


@pytest.mark.parametrize("mode", MODES)
def test_every_door_has_the_same_report_modes(sandbox: Any, mode: str) -> None:
    configuration = CONFIGURATIONS["openai"]
    model, target = configuration.model(sandbox), configuration.target
    first = DAMAGE["dangling call in the middle"]
    history = [
        *first,
        AIMessage("18"),
        HumanMessage("And?"),
        assistant_calls(TWO),
        HumanMessage("?"),
    ]
    report = by_model(model, [look], history, target, report=mode)
    assert (report is None) == (mode == "off")
    assert {
        door: call(model, [look], history, target, report=mode) for door, call in DOORS.items()
    } == (dict.fromkeys(DOORS, report))


@pytest.mark.parametrize("door", ["model", *DOORS])
def test_no_door_is_refused_because_the_agent_has_no_tools(sandbox: Any, door: str) -> None:
    configuration = CONFIGURATIONS["anthropic"]
    call = {"model": by_model, **DOORS}[door]
    call(configuration.model(sandbox), [], deepcopy(VALID), configuration.target, on_error="raise")
    assert not sandbox.refusals


def test_the_function_and_the_step_before_a_bare_model_convert_calls_without_tools(
    sandbox: Any,
) -> None:
    configuration = CONFIGURATIONS["anthropic"]
    model, target = configuration.model(sandbox), configuration.target
    prompt = ChatPromptTemplate.from_messages([("placeholder", "{history}")])
    chain = prompt | repair_messages(target=target, tools=[]) | model
    assert chain.invoke({"history": VALID}).content
    assert model.invoke(repair_messages(VALID, target=target, tools=[])).content
    assert not sandbox.refusals
    assert "18 degrees" in str(sent(sandbox))


INPUTS = [
    "hello there",
    StringPromptValue(text="hello there"),
    ChatPromptValue(messages=[HumanMessage("hello there")]),
    [("system", "Be brief."), ("human", "hello there")],
    (("human", "hello there"),),
    [{"role": "user", "content": "hello there"}, "hello there"],
]


@pytest.mark.parametrize("given", INPUTS)
def test_every_input_of_a_chat_model_is_an_input_of_repair_messages(
    sandbox: Any, given: Any
) -> None:
    configuration = CONFIGURATIONS["openai"]
    model, options = configuration.model(sandbox), {"on_error": "raise"}
    model.invoke(given)
    body = sent(sandbox)
    wanted = ChatOpenAI(model="gpt-4o", api_key="k")._convert_input(given).to_messages()
    assert repair_messages(given, target=configuration.target, **options) == wanted
    step = repair_messages(target=configuration.target, **options)
    assert step.invoke(given) == run(step.ainvoke(given)) == wanted
    (step | model).invoke(given)
    assert sent(sandbox) == body
    assert len(sandbox.requests) == 2


@pytest.mark.parametrize("given", [HumanMessage("q"), {"role": "user", "content": "q"}])
def test_an_input_that_no_chat_model_takes_is_an_error(given: Any) -> None:
    model = ChatOpenAI(model="gpt-4o", api_key="k")
    step = repair_messages(target="openai/gpt-4o")
    for call in (model.invoke, (step | model).invoke, step.invoke):
        with pytest.raises(ValueError, match="list"):
            call(given)


def test_a_step_leaves_its_report_in_the_last_message() -> None:
    history = DAMAGE["one of two calls unanswered"]
    step = repair_messages(target="openai/gpt-4o")
    last = step.invoke(history)[-1]
    assert last.content == history[-1].content
    assert [change["code"] for change in _report(last)["changes"]] == ["TOOL007"]
    assert run(step.ainvoke(history))[-1] == last
    function = repair_messages(history, target="openai/gpt-4o")
    assert function[-1] is history[-1]


def test_a_clean_history_passes_through_every_step_as_the_same_list() -> None:
    assert repair_messages(target="openai/gpt-4o").invoke(VALID) is VALID
    assert repair_messages(VALID, target="openai/gpt-4o") is VALID
    state = {"messages": VALID}
    assert repair_node("openai/gpt-4o")(state)["llm_input_messages"] is VALID


@pytest.mark.parametrize("door", ["model", "middleware", "transformer", "node and model"])
def test_every_door_disables_thinking_in_a_loop_that_began_without(sandbox: Any, door: str) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    model = CONFIGURATIONS["anthropic"].model(sandbox, thinking=thinking, max_tokens=4000)
    history = [HumanMessage("q"), assistant_calls("toolu_1"), tool_result("toolu_1")]
    call = {"model": by_model, **DOORS}[door]
    report = call(model, [look], history, "anthropic/claude-haiku-4-5", on_error="raise")
    assert not sandbox.refusals
    assert "THINK008" in str(report)
    assert sandbox.requests[-1].body.get("thinking", {}).get("type") != "enabled"


def test_a_node_that_cannot_change_the_thinking_parameter_reports_it(sandbox: Any) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    model = CONFIGURATIONS["anthropic"].model(sandbox, thinking=thinking, max_tokens=4000)
    history = [HumanMessage("q"), assistant_calls("toolu_1"), tool_result("toolu_1")]
    state = repair_node(model)({"messages": history})
    (change,) = _report(state["llm_input_messages"][-1])["changes"]
    assert (change["code"], change["applied"]) == ("THINK008", False)


@pytest.mark.parametrize("make", [repair_messages, repair_node])
def test_an_unknown_option_or_value_is_an_error(make: Any) -> None:
    target = {"target": "openai/gpt-4o"}
    with pytest.raises(TypeError):
        make(**target, polici="offline")
    with pytest.raises(ValueError, match="report"):
        make(**target, report="everything")


def test_a_node_takes_the_tools_and_options_of_a_bound_model(sandbox: Any) -> None:
    bound = CONFIGURATIONS["anthropic"].model(sandbox).bind_tools([look])
    repaired = repair_node(bound)({"messages": DAMAGE["dangling call in the middle"]})
    assert any(isinstance(one, ToolMessage) for one in repaired["llm_input_messages"])
    with pytest.raises(TypeError, match="expected a chat model, not a RunnableLambda"):
        repair_node(RunnableLambda(str))
