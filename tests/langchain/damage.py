"""Broken histories by name, of the kinds that agents produce."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from tests.langchain.shapes import PIXEL, broken, call


def assistant_calls(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[call(one) for one in ids])


def tool_result(call_id: str, text: str = "18 degrees") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="look")


Q, NEXT = HumanMessage("What is it like in Paris?"), HumanMessage("And now?")
ONE, TWO = "abcdefgh1", "abcdefgh2"


_CALL: list[Any] = [{"type": "tool_use", "id": ONE, "name": "look", "input": {"at": "Paris"}}]
_TEXT: list[Any] = [{"type": "text", "text": "I look."}]


class Rows(dict[str, list[BaseMessage]]):
    """Histories by name; each look-up copies the messages, because LangGraph sets ids on them."""

    def __getitem__(self, name: str) -> list[BaseMessage]:
        return [deepcopy(message) for message in super().__getitem__(name)]


_ROWS: dict[str, list[BaseMessage]] = {
    "dangling call in the middle": [Q, assistant_calls(ONE), NEXT],
    "dangling call at the end": [Q, assistant_calls(ONE)],
    "one of two calls unanswered": [Q, assistant_calls(ONE, TWO), tool_result(ONE), NEXT],
    "orphan result at the head": [tool_result(ONE), Q, AIMessage("hi"), NEXT],
    "orphan result in the middle": [Q, AIMessage("hi"), tool_result("zzzzzzzz9"), NEXT],
    "duplicate result": [
        Q,
        assistant_calls(ONE),
        tool_result(ONE),
        tool_result(ONE, "19 degrees"),
        NEXT,
    ],
    "result behind an interleaved user": [
        Q,
        assistant_calls(ONE),
        HumanMessage("hurry"),
        tool_result(ONE),
        NEXT,
    ],
    "id used again and not answered": [
        Q,
        assistant_calls(ONE),
        tool_result(ONE),
        AIMessage("18"),
        NEXT,
        assistant_calls(ONE),
        NEXT,
    ],
    "late result": [Q, assistant_calls(ONE), NEXT, AIMessage("wait"), tool_result(ONE), NEXT],
    "cut off arguments": [Q, AIMessage("", invalid_tool_calls=[broken(ONE)]), NEXT],
    "call without an id": [Q, AIMessage("", tool_calls=[call(None)]), tool_result(""), NEXT],
    "empty answer": [Q, AIMessage(""), NEXT],
    "empty question": [Q, AIMessage("hi"), HumanMessage("")],
    "assistant first": [AIMessage("Welcome"), Q],
    "assistant last": [Q, AIMessage("It is ")],
    "two users": [Q, NEXT],
    "two assistants": [Q, AIMessage("It"), AIMessage("is"), NEXT],
    "system in the middle": [Q, AIMessage("hi"), SystemMessage("be brief"), NEXT],
    "two systems": [SystemMessage("be kind"), SystemMessage("be brief"), Q],
    "odd ids": [Q, assistant_calls("call.1|fc:2"), tool_result("call.1|fc:2"), NEXT],
    "a very long id": [Q, assistant_calls("x" * 80), tool_result("x" * 80), NEXT],
    "two calls of one id": [
        Q,
        assistant_calls(ONE, ONE),
        tool_result(ONE),
        tool_result(ONE, "19"),
        NEXT,
    ],
    "results in another order": [
        Q,
        assistant_calls(ONE, TWO),
        tool_result(TWO),
        tool_result(ONE),
        NEXT,
    ],
    "an odd tool name": [
        Q,
        AIMessage("", tool_calls=[call(ONE, "look at/it")]),
        tool_result(ONE),
        NEXT,
    ],
    "lone surrogate": [HumanMessage("a\ud800b")],
    "text and a call": [Q, AIMessage("I look.", tool_calls=[call(ONE)]), tool_result(ONE), NEXT],
    "a function's result": [Q, FunctionMessage(name="look", content="18"), NEXT],
    "a call in the content alone": [
        Q,
        AIMessage([{"type": "tool_use", "id": ONE, "name": "look", "input": {"at": "Paris"}}]),
        NEXT,
    ],
    "results in a user message": [
        Q,
        assistant_calls(ONE, TWO),
        HumanMessage(
            [
                {"type": "tool_result", "tool_use_id": ONE, "content": "18"},
                {"type": "text", "text": "so?"},
            ]
        ),
    ],
    "blank text block": [
        HumanMessage([{"type": "text", "text": " "}, {"type": "text", "text": "hello"}])
    ],
    "nothing but a system prompt": [SystemMessage("be kind")],
    "strings in lists": [
        SystemMessage(["be kind"]),
        HumanMessage(["What is it like", " in Paris?"]),
    ],
    "a list of empty texts": [Q, AIMessage("hi"), HumanMessage([{"type": "text", "text": ""}])],
    "an image in the system prompt": [
        SystemMessage(
            [
                {"type": "text", "text": "be kind"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ]
        ),
        Q,
    ],
    "a system message last": [Q, AIMessage("hi"), NEXT, SystemMessage("be brief")],
    "a block of another provider": [
        HumanMessage([{"type": "non_standard", "value": {"anything": 1}}])
    ],
    "a result block without content": [
        Q,
        assistant_calls(ONE),
        HumanMessage([{"type": "tool_result", "tool_use_id": ONE}]),
    ],
    "an unknown block in a result": [
        Q,
        assistant_calls(ONE),
        ToolMessage(
            [{"type": "text", "text": "18"}, {"type": "hologram", "data": "x"}], tool_call_id=ONE
        ),
        NEXT,
    ],
    "a complete call among the invalid ones": [
        Q,
        AIMessage("", invalid_tool_calls=[{**broken(ONE), "args": '{"at": "Paris"}'}]),
        tool_result(ONE),
        NEXT,
    ],
    "a text behind the call": [Q, AIMessage([*_CALL, *_TEXT]), tool_result(ONE), NEXT],
    "a text between the calls": [
        Q,
        AIMessage([*_CALL, *_TEXT, {**_CALL[0], "id": TWO}]),
        tool_result(ONE),
        tool_result(TWO),
        NEXT,
    ],
    "a call with keys of its own": [
        Q,
        AIMessage(
            [{**_CALL[0], "citations": None, "provider_specific_fields": {"a": 1}, "id_": 7}]
        ),
        NEXT,
    ],
    "an open call of Anthropic's web search": [
        Q,
        AIMessage(
            [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}]
        ),
        NEXT,
    ],
}
DAMAGE = Rows(_ROWS)
"""Broken histories; for each, a provider refuses it or a partner's converter loses part of it."""

VALID: list[BaseMessage] = [
    Q,
    assistant_calls(ONE),
    tool_result(ONE),
    AIMessage("It is warm."),
    NEXT,
]


def contents(messages: list[BaseMessage]) -> list[Any]:
    return [message.content for message in messages]
