"""Answers of two providers that are merged: the thinking of one of them is still its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
pytest.importorskip("langchain_aws")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from chatmend.transcript import is_unchanged
from tests.langchain.classes import DESTINATIONS

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from chatmend.sandbox import Sandbox

SIGNATURE = "EqQBCkYIBxgCKkDyZ2ljYWxzaWduYXR1cmV0aGF0aXNsb25nZW5vdWdo"
THOUGHT = {"type": "thinking", "thinking": "Plan.", "signature": SIGNATURE}


def split_turn(first: dict[str, Any], second: dict[str, Any]) -> list[BaseMessage]:
    """Two answers with a call each before the results; the second one has thinking."""
    calls: Any = [
        {"name": "look", "args": {}, "id": f"call_{number}", "type": "tool_call"}
        for number in (1, 2)
    ]
    block = {"type": "tool_use", "id": "call_2", "name": "look", "input": {}}
    return [
        HumanMessage("go"),
        AIMessage("one", tool_calls=calls[:1], response_metadata=first),
        AIMessage([THOUGHT, block], tool_calls=calls[1:], response_metadata=second),
        ToolMessage("r1", tool_call_id="call_1"),
        ToolMessage("r2", tool_call_id="call_2"),
    ]


@pytest.mark.parametrize("first", [{"model_provider": "openai", "id": "one"}, {}])
@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("anthropic", "anthropic"),
        ("bedrock claude", "bedrock_converse"),
        ("bedrock invoke", "bedrock"),
        ("anthropic", None),
    ],
)
def test_its_thinking_is_sent_and_a_second_repair_keeps_it(
    sandbox: Sandbox, name: str, provider: str | None, first: dict[str, Any]
) -> None:
    second = {"model_provider": provider} if provider else {}
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    once = list(prepare(model, split_turn(first, second), {}).messages)
    merged = once[1]
    assert [call["id"] for call in merged.tool_calls] == ["call_1", "call_2"]  # type: ignore[attr-defined]
    assert merged.response_metadata == {key: first[key] for key in first if key == "id"} | second
    assert is_unchanged(once, prepare(model, once, {}).messages)
    model.invoke(split_turn(first, second))
    assert SIGNATURE in json.dumps(sandbox.requests[-1].body)


def test_without_thinking_it_keeps_the_provider_of_the_first(sandbox: Sandbox) -> None:
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    messages = split_turn({"model_provider": "openai"}, {"model_provider": "anthropic"})
    messages[2].content = messages[2].content[1:]
    merged = prepare(model, messages, {}).messages[1]
    assert merged.response_metadata == {"model_provider": "openai"}


@pytest.mark.parametrize("provider", ["openai", "mistralai", "google_genai", None])
def test_blocks_of_the_second_answer_are_sent_in_their_format(
    sandbox: Sandbox, provider: str | None
) -> None:
    """Only ``output_version`` says that a block of reasoning is LangChain's own."""
    first = {"model_provider": provider} if provider else {}
    standard = {"model_provider": "anthropic", "output_version": "v1"}
    messages = split_turn(first, standard)
    thought = {"type": "reasoning", "reasoning": "Plan.", "extras": {"signature": SIGNATURE}}
    made = {**messages[2].tool_calls[0]}  # type: ignore[attr-defined]
    messages[2] = messages[2].model_copy(update={"content": [thought, made]})
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    (_, merged, *_) = prepare(model, messages, {}).messages
    assert merged.response_metadata == standard
    body = model._get_request_payload(prepare(model, messages, {}).messages)  # type: ignore[attr-defined]
    assert THOUGHT in body["messages"][1]["content"]
