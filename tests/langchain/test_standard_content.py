"""Answers with ``output_version="v1"``, of which a cut stream may leave nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, HumanMessage

from chatmend.langchain import mend
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import SIGNATURE

if TYPE_CHECKING:
    from chatmend.sandbox import Sandbox

EMPTIED: list[list[Any]] = [
    [],
    [{"type": "text", "text": ""}],
    [{"type": "reasoning", "reasoning": "hm"}],
]


@pytest.mark.parametrize("content", EMPTIED)
@pytest.mark.parametrize(
    "name", ["anthropic", "bedrock claude", "bedrock invoke", "gemini", "responses", "openai"]
)
def test_an_emptied_answer_is_sent_as_a_list_of_blocks(
    sandbox: Sandbox, name: str, content: list[Any]
) -> None:
    metadata = {"output_version": "v1", "model_provider": "openai"}
    answer = AIMessage(content, response_metadata=metadata)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise")
    model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    assert sandbox.requests
    assert not sandbox.refusals


SIGNED: list[Any] = [
    {"type": "text", "text": "It is mild"},
    {"type": "text", "text": "", "extras": {"signature": SIGNATURE}},
]
"""What remains of a stream of Gemini whose last part holds only the signature."""


def test_the_signature_in_the_empty_text_at_the_end_is_sent_to_gemini(sandbox: Sandbox) -> None:
    answer = AIMessage(SIGNED, response_metadata={"model_provider": "google_genai"})
    messages = [HumanMessage("q"), answer, HumanMessage("go on")]
    model = DESTINATIONS["gemini 3"].model(sandbox)
    bodies = []
    for one in (model, mend(model, on_error="raise")):
        one.invoke(messages)
        bodies.append(sandbox.requests[-1].body)
    assert bodies[0] == bodies[1]
    assert SIGNATURE in json.dumps(bodies[0])


def test_the_same_text_is_removed_for_claude(sandbox: Sandbox) -> None:
    answer = AIMessage(SIGNED, response_metadata={"model_provider": "google_genai"})
    model = mend(DESTINATIONS["anthropic"].model(sandbox), on_error="raise")
    model.invoke([HumanMessage("q"), answer, HumanMessage("go on")])
    sent = sandbox.requests[-1].body["messages"][1]["content"]
    assert [block["text"] for block in sent] == ["It is mild"]


def test_a_merged_stream_of_magistral_begins_with_its_thinking(sandbox: Sandbox) -> None:
    thought: Any = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    answer = AIMessage(["", thought, "Mild."], response_metadata={"model_provider": "mistralai"})
    messages = [HumanMessage("q"), answer, HumanMessage("go on")]
    model = DESTINATIONS["mistral"].model(sandbox)
    with pytest.raises(Exception, match="must be leading"):
        model.invoke(messages)
    mend(model, on_error="raise").invoke(messages)
    content = sandbox.requests[-1].body["messages"][1]["content"]
    assert [part["type"] for part in content] == ["thinking", "text"]
