"""Tools that the history uses and the request does not declare."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import chatmend
from chatmend import Effect, Policy
from tests.judges import judge

CLAUDE, NOVA, GPT = (
    "anthropic/claude-sonnet-4-5",
    "bedrock/us.amazon.nova-pro-v1:0",
    "openai/gpt-4o",
)
SCHEMA = {"type": "object", "properties": {}}
USER = {"role": "user", "content": "go"}


def call(call_id: str, name: Any = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


def chat(*names: str) -> list[Any]:
    """A chat with one exchange for each name."""
    messages: list[Any] = [USER]
    for at, name in enumerate(names):
        messages += [
            {"role": "assistant", "content": "I look.", "tool_calls": [call(f"c{at}", name)]},
            result(f"c{at}"),
        ]
    return messages


def blocks(*names: str) -> list[Any]:
    """The same in Anthropic's blocks."""
    messages: list[Any] = [USER]
    for at, name in enumerate(names):
        use = {"type": "tool_use", "id": f"c{at}", "name": name, "input": {}}
        answer = {"type": "tool_result", "tool_use_id": f"c{at}", "content": "done"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    return messages


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA}}


@pytest.mark.parametrize(
    ("messages", "target", "tools"),
    [
        pytest.param(chat("look"), CLAUDE, [function("look")], id="declared"),
        pytest.param(chat("look"), CLAUDE, [function("another")], id="others declared"),
        pytest.param(chat("look"), CLAUDE, None, id="not known"),
        pytest.param(chat("look"), GPT, [], id="a target that does not ask"),
        pytest.param(chat(), CLAUDE, [], id="no calls, texts only"),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
            CLAUDE,
            [],
            id="no calls, parts",
        ),
        pytest.param(chat("look"), CLAUDE, (function("look"),), id="a tuple"),
    ],
)
def test_nothing_is_declared_where_nothing_is_missing(
    messages: list[Any], target: str, tools: Any
) -> None:
    done = chatmend.repair(messages, target, tools=tools)
    assert done.messages is messages
    assert done.tools is tools
    assert done.changes == ()


@pytest.mark.parametrize("target", [CLAUDE, NOVA])
def test_each_tool_of_the_history_is_declared_once_in_the_order_of_its_first_call(
    target: str,
) -> None:
    tools: list[Any] = []
    done = chatmend.repair(chat("look", "ask", "look"), target, tools=tools)
    assert done.tools == [function("look"), function("ask")]
    assert tools == []


def test_blocks_are_declared_with_an_input_schema_and_accepted() -> None:
    done = chatmend.repair(blocks("look"), CLAUDE, tools=[], dialect="anthropic_messages")
    assert done.tools == [{"name": "look", "input_schema": SCHEMA}]
    assert judge("anthropic_messages", CLAUDE, done.messages) == []


def test_a_call_of_2023_counts_as_a_call() -> None:
    called = {
        "role": "assistant",
        "content": "I look.",
        "function_call": {"name": "look", "arguments": "{}"},
    }
    answer = {"role": "function", "name": "look", "content": "done"}
    done = chatmend.repair([USER, called, answer], CLAUDE, tools=[])
    assert done.tools == [function("look")]


def test_a_name_that_is_repaired_is_declared_as_it_is_sent() -> None:
    done = chatmend.repair(chat("look at"), CLAUDE, tools=[])
    name = done.messages[1]["tool_calls"][0]["function"]["name"]
    assert name != "look at"
    assert done.tools == [function(name)]


def test_the_change_names_the_place_and_can_be_replayed() -> None:
    messages = chat("look")
    done = chatmend.repair(messages, CLAUDE, tools=[])
    (change,) = done.changes
    assert (change.code, change.rule, change.where, change.index) == (
        "TOOL014",
        "undeclared-tools",
        "tools",
        None,
    )
    assert (change.effect, change.applied) == (Effect.ADDS, True)
    assert (change.before, change.after) == (([],), ([function("look")],))
    assert change.why == "the history contains tool calls, so the request must declare tools"
    assert done.messages is messages
    assert chatmend.replay(messages, done.changes) == messages


def test_a_second_repair_declares_nothing_more() -> None:
    done = chatmend.repair(chat("look"), CLAUDE, tools=[])
    again = chatmend.repair(done.messages, CLAUDE, tools=done.tools)
    assert again.tools is done.tools
    assert again.changes == ()


def test_where_nothing_may_be_added_it_is_only_reported() -> None:
    tools: list[Any] = []
    done = chatmend.repair(chat("look"), CLAUDE, tools=tools, policy=Policy(allow=Effect.RESHAPES))
    assert done.tools is tools
    assert [(change.code, change.applied) for change in done.changes] == [("TOOL014", False)]


def test_a_policy_that_allows_additions_declares_them() -> None:
    done = chatmend.repair(chat("look"), CLAUDE, tools=[], policy=Policy(allow=Effect.ADDS))
    assert done.tools == [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]


def test_a_request_body_without_tools_gets_them() -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": blocks("look")}
    before = copy.deepcopy(body)
    done = chatmend.repair_request(body, CLAUDE)
    assert done.body == {**before, "tools": [{"name": "look", "input_schema": SCHEMA}]}
    assert body == before


def test_the_policy_that_allows_additions_and_nothing_more_declares_the_tools() -> None:
    done = chatmend.repair(chat("look"), CLAUDE, tools=[], policy=Policy(allow=Effect.ADDS))
    assert done.tools == [function("look")]
    (change,) = done.changes
    assert change.applied
    assert not change.invalidates_thinking


def test_the_tool_that_the_provider_ran_is_not_declared() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    messages = chat("look")
    messages[1] |= {
        "tool_calls": [call("c0", "look"), call("srvtoolu_1", "web_search")],
        "provider_specific_fields": {"web_search_results": [found]},
    }
    done = chatmend.repair(messages, CLAUDE, tools=[])
    assert done.tools == [function("look")]
