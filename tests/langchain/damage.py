"""Broken histories by name, as agents leave them behind."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

from tests.langchain.shapes import broken, call


def asked(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[call(one) for one in ids])


def told(call_id: str, text: str = "18 degrees") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="look")


Q, NEXT = HumanMessage("What is it like in Paris?"), HumanMessage("And now?")
ONE, TWO = "abcdefgh1", "abcdefgh2"


class Rows(dict[str, list[BaseMessage]]):
    """Histories by name. Each look-up makes new messages: LangGraph gives ids to those that it gets."""

    def __getitem__(self, name: str) -> list[BaseMessage]:
        return [deepcopy(message) for message in super().__getitem__(name)]


_ROWS: dict[str, list[BaseMessage]] = {
    "dangling call in the middle": [Q, asked(ONE), NEXT],
    "dangling call at the end": [Q, asked(ONE)],
    "one of two calls unanswered": [Q, asked(ONE, TWO), told(ONE), NEXT],
    "orphan result at the head": [told(ONE), Q, AIMessage("hi"), NEXT],
    "orphan result in the middle": [Q, AIMessage("hi"), told("zzzzzzzz9"), NEXT],
    "duplicate result": [Q, asked(ONE), told(ONE), told(ONE, "19 degrees"), NEXT],
    "result behind an interleaved user": [Q, asked(ONE), HumanMessage("hurry"), told(ONE), NEXT],
    "id used again and not answered": [Q, asked(ONE), told(ONE), AIMessage("18"), NEXT, asked(ONE), NEXT],
    "late result": [Q, asked(ONE), NEXT, AIMessage("wait"), told(ONE), NEXT],
    "cut off arguments": [Q, AIMessage("", invalid_tool_calls=[broken(ONE)]), NEXT],
    "call without an id": [Q, AIMessage("", tool_calls=[call(None)]), told(""), NEXT],
    "empty answer": [Q, AIMessage(""), NEXT],
    "empty question": [Q, AIMessage("hi"), HumanMessage("")],
    "assistant first": [AIMessage("Welcome"), Q],
    "assistant last": [Q, AIMessage("It is ")],
    "two users": [Q, NEXT],
    "two assistants": [Q, AIMessage("It"), AIMessage("is"), NEXT],
    "system in the middle": [Q, AIMessage("hi"), SystemMessage("be brief"), NEXT],
    "two systems": [SystemMessage("be kind"), SystemMessage("be brief"), Q],
    "odd ids": [Q, asked("call.1|fc:2"), told("call.1|fc:2"), NEXT],
    "a very long id": [Q, asked("x" * 80), told("x" * 80), NEXT],
    "two calls of one id": [Q, asked(ONE, ONE), told(ONE), told(ONE, "19"), NEXT],
    "results in another order": [Q, asked(ONE, TWO), told(TWO), told(ONE), NEXT],
    "an odd tool name": [Q, AIMessage("", tool_calls=[call(ONE, "look at/it")]), told(ONE), NEXT],
    "half a character": [HumanMessage("a\ud800b")],
    "text beside a call": [Q, AIMessage("I look.", tool_calls=[call(ONE)]), told(ONE), NEXT],
    "a function's result": [Q, FunctionMessage(name="look", content="18"), NEXT],
    "a call in the content alone": [
        Q,
        AIMessage([{"type": "tool_use", "id": ONE, "name": "look", "input": {"at": "Paris"}}]),
        NEXT,
    ],
    "results in a user message": [
        Q,
        asked(ONE, TWO),
        HumanMessage([{"type": "tool_result", "tool_use_id": ONE, "content": "18"}, {"type": "text", "text": "so?"}]),
    ],
    "blank text block": [HumanMessage([{"type": "text", "text": " "}, {"type": "text", "text": "hello"}])],
    "nothing but a system prompt": [SystemMessage("be kind")],
}
DAMAGE = Rows(_ROWS)
"""Rows of the table: each is refused by at least one of the providers, or lost by a converter."""

VALID: list[BaseMessage] = [Q, asked(ONE), told(ONE), AIMessage("It is warm."), NEXT]


def contents(messages: list[BaseMessage]) -> list[Any]:
    return [message.content for message in messages]
