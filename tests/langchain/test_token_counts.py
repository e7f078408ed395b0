"""Tokens are counted of the request that is sent, which the provider may validate."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, trim_messages

from chatmend.langchain import mend
from tests.langchain.classes import DESTINATIONS
from tests.langchain.test_damage import look

CALL = {"name": "search", "args": {}, "id": "toolu_1", "type": "tool_call"}
HISTORY = [
    HumanMessage("What is it?"),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("18", tool_call_id="toolu_1"),
    HumanMessage("Thanks."),
]


def test_a_count_without_calls_is_that_of_the_original_model(sandbox: Any) -> None:
    model = DESTINATIONS["anthropic"].model(sandbox)
    expected = model.get_num_tokens_from_messages(HISTORY[:1])
    assert mend(model).get_num_tokens_from_messages(HISTORY[:1]) == expected
    bare, wrapped = (verdict.body for verdict in sandbox.requests)
    assert bare == wrapped


@pytest.mark.parametrize("arguments", [[], [None], [[look]], {"tools": None}, {"tools": [look]}])
def test_a_count_declares_the_tools_that_a_request_declares(sandbox: Any, arguments: Any) -> None:
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    given = (arguments, {}) if isinstance(arguments, list) else ((), arguments)
    assert model.get_num_tokens_from_messages(HISTORY, *given[0], **given[1]) > 0
    names = [tool["name"] for tool in sandbox.requests[-1].body["tools"]]
    declared = [*given[0], *given[1].values()]
    assert names == (["look"] if [look] in declared else ["search"])


def test_messages_are_trimmed_with_the_counts_of_a_wrapped_model(sandbox: Any) -> None:
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    assert trim_messages(HISTORY, max_tokens=1000, token_counter=model) == HISTORY


def test_a_class_that_ignores_tools_is_not_given_them() -> None:
    class Counting(GenericFakeChatModel):
        def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
            assert tools is None
            return len(messages)

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self.bind(tools=tools)

    model = mend(Counting(messages=iter(())), target="anthropic/claude-opus-4-8")
    assert model.get_num_tokens_from_messages(HISTORY) == len(HISTORY)
