"""Calls in fields of a message that a partner package sends only sometimes, or never."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend.langchain.partners import find_destination
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import raw
from tests.langchain.test_converters import sent, unchanged

Q, NEXT = HumanMessage("q"), HumanMessage("go on")
CLASSES = ["responses", *{one.path: name for name, one in DESTINATIONS.items()}.values()]
"""One destination of each class, and the other API of ChatOpenAI."""
NEVER_SENT = ["anthropic", "bedrock claude", "bedrock invoke", "gemini", "ollama", "cohere"]


def withdrawn() -> AIMessage:
    """Return an answer whose call a middleware has removed from ``tool_calls``."""
    answer = AIMessage(
        "a",
        additional_kwargs={"tool_calls": [raw()]},
        response_metadata={"model_provider": "groq"},
    )
    answer.tool_calls = []
    return answer


@pytest.mark.parametrize("name", NEVER_SENT)
def test_a_withdrawn_call_that_the_class_never_sends_needs_no_result(name: str) -> None:
    assert unchanged(name, [Q, withdrawn(), NEXT])


@pytest.mark.parametrize("name", CLASSES)
def test_the_table_knows_which_classes_send_withdrawn_calls(sandbox: Any, name: str) -> None:
    sandbox.clear()
    model = DESTINATIONS[name].model(sandbox)
    try:
        model.invoke([Q, withdrawn(), NEXT])
    except Exception:  # noqa: BLE001 - a dangling call is refused
        assert sandbox.refusals
    body = json.dumps(sandbox.requests[-1].body)
    assert ('"look"' in body) is find_destination(model, {}).converter.spare_raw_calls


def test_a_withdrawn_call_that_the_class_sends_gets_a_result() -> None:
    (_, answer, result, _) = sent("groq", [Q, withdrawn(), NEXT])
    assert isinstance(answer, AIMessage)
    assert isinstance(result, ToolMessage)
    assert result.tool_call_id == "call_1"


def test_the_result_of_a_withdrawn_call_that_is_never_sent_becomes_text() -> None:
    messages: list[BaseMessage] = [Q, withdrawn(), ToolMessage("18", tool_call_id="call_1"), NEXT]
    assert not any(isinstance(one, ToolMessage) for one in sent("anthropic", messages))
