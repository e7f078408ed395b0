"""A user message that was added at the end of a request stays there in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from chatmend.langchain import mend, repair_messages, repair_node
from tests.langchain.classes import DESTINATIONS
from tests.langchain.configurations import CONFIGURATIONS

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

HISTORY: list[BaseMessage] = [HumanMessage("What is it?"), AIMessage("It is ")]
GREETING = AIMessage("Hello, how can I help?")
HISTORIES: dict[str, list[BaseMessage]] = {
    "ends with the assistant": HISTORY,
    "only a system prompt": [SystemMessage("Tell a joke.")],
    "system prompt and greeting": [SystemMessage("Be kind."), GREETING],
    "only a greeting": [GREETING],
}
MODELS = {**{name: DESTINATIONS[name] for name in ("anthropic", "mistral", "bedrock claude")}}
MODELS |= {"claude with prefill": CONFIGURATIONS["anthropic"], "openai": CONFIGURATIONS["openai"]}


@pytest.mark.parametrize("report", ["new", "counts", "all", "off"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("opening", HISTORIES)
def test_the_next_request_begins_with_the_last_one(
    sandbox: Sandbox, name: str, report: Any, opening: str
) -> None:
    model = mend(MODELS[name].model(sandbox), on_error="raise", report=report)
    first = model.invoke(HISTORIES[opening])
    history = [*HISTORIES[opening], first, HumanMessage("And now?")]
    second = model.invoke(history)
    model.invoke([*history, second, HumanMessage("And then?")])
    one, two, three = (verdict.body["messages"] for verdict in sandbox.requests)
    assert two[: len(one)] == one
    assert three[: len(two)] == two


def test_two_answers_of_which_none_was_repaired_are_not_changed(sandbox: Sandbox) -> None:
    answers = [AIMessage("It is "), AIMessage("warm.")]
    history = [HISTORY[0], *answers, HumanMessage("And now?")]
    DESTINATIONS["anthropic"].model(sandbox).invoke(history)
    mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise").invoke(history)
    bare, wrapped = (verdict.body for verdict in sandbox.requests)
    assert bare == wrapped


def test_the_repair_is_idempotent() -> None:
    report = {"changes": [{"code": "TURN005", "applied": True}]}
    answer = AIMessage("warm.", response_metadata={"chatmend": report})
    target = "anthropic/claude-opus-4-8"
    once = repair_messages([*HISTORY, answer, HumanMessage("And now?")], target=target)
    assert [message.content for message in once][2] == "[continued]"
    assert repair_messages(once, target=target) is once


@pytest.mark.parametrize("report", [None, "text", {"changes": "text"}, {"changes": [None]}, []])
def test_a_malformed_report_is_ignored(report: Any) -> None:
    answer = AIMessage("warm.", response_metadata={"chatmend": report})
    history = [*HISTORY, answer, HumanMessage("And now?")]
    assert repair_messages(history, target="anthropic/claude-opus-4-8") is history


def test_the_answer_to_a_node_records_an_added_user_message_without_a_report(
    sandbox: Sandbox,
) -> None:
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise", report="off")
    node = repair_node(model, report="new")
    first = model.invoke(node({"messages": HISTORY})["llm_input_messages"])
    assert first.response_metadata["chatmend"] == {"counts": {"TURN005": 1}}
    model.invoke([*HISTORY, first, HumanMessage("And now?")])
    one, two = (verdict.body["messages"] for verdict in sandbox.requests)
    assert two[: len(one)] == one


def test_without_a_report_other_changes_leave_no_record(sandbox: Sandbox) -> None:
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise", report="off")
    answer = model.invoke([HumanMessage("What is it?"), AIMessage(""), HumanMessage("Well?")])
    assert "chatmend" not in answer.response_metadata
