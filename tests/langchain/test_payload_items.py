"""Items that OpenAI's Responses API refuses and that only the payload of ``ChatOpenAI`` shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_openai")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import call

Q, NEXT = HumanMessage("q"), HumanMessage("go on")
OPENAI = {"model_provider": "openai"}
THOUGHT = {"id": "rs_1", "summary": [], "type": "reasoning"}
PATCH = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "call_1",
    "status": "completed",
    "operation": {"type": "create_file", "path": "a", "diff": "+x"},
}
OUTPUT = {
    "type": "apply_patch_call_output",
    "call_id": "call_1",
    "status": "completed",
    "output": "done",
}
TEXT = {"type": "text", "text": "It is mild", "annotations": [], "id": "msg_1"}
MERGED = {
    "type": "text",
    "text": "It is mild",
    "index": 0,
    "id": "call_1",
    "name": "look",
    "args": '{"at": "Paris"}',
}
"""What langchain-core makes of a text and the chunk of a call with the same index."""


def said(*blocks: Any, **fields: Any) -> AIMessage:
    return AIMessage(list(blocks), response_metadata=OPENAI, **fields)


def of_v0(**kwargs: Any) -> AIMessage:
    return AIMessage([], additional_kwargs=kwargs, response_metadata=OPENAI)


def sent_to(sandbox: Any, messages: list[BaseMessage]) -> list[Any]:
    """Return the items that a wrapped model sends and that the API accepts."""
    model = mend(DESTINATIONS["responses"].model(sandbox), on_error="raise")
    assert refusal(model, sandbox, messages) is None
    items: list[Any] = sandbox.requests[-1].body["input"]
    return items


def test_items_that_the_api_accepts_are_sent_as_without_chatmend(sandbox: Any) -> None:
    """An answer without reasoning has the ids of items, too."""
    output: Any = HumanMessage([OUTPUT])
    messages: list[BaseMessage] = [
        Q,
        said(TEXT),
        NEXT,
        said(PATCH),
        output,
        said(THOUGHT, {**TEXT, "id": "msg_2"}),
    ]
    bare = DESTINATIONS["responses"].model(sandbox)
    assert (
        sent_to(sandbox, [*messages, NEXT])
        == (bare._get_request_payload([*messages, NEXT])["input"])
    )
    call_made = prepare(mend(bare), [*messages, NEXT], {})
    assert call_made.messages == [*messages, NEXT]
    assert call_made.report() is None


@pytest.mark.parametrize("answer", [said(PATCH), of_v0(tool_outputs=[PATCH])])
def test_a_patch_without_its_output_becomes_text(sandbox: Any, answer: AIMessage) -> None:
    items = sent_to(sandbox, [Q, answer, NEXT])
    assert "apply_patch_call" not in {item.get("type") for item in items}
    assert "+x" in json.dumps(items)


def test_a_patch_with_its_output_in_a_tool_message_is_sent_with_both(sandbox: Any) -> None:
    items = sent_to(sandbox, [Q, said(PATCH), ToolMessage("done", tool_call_id="call_1"), NEXT])
    assert "+x" in json.dumps(items)
    assert "done" in json.dumps(items)


def test_reasoning_of_an_interrupted_answer_is_removed(sandbox: Any) -> None:
    items = sent_to(sandbox, [Q, of_v0(reasoning=THOUGHT), NEXT])
    assert [item["content"] for item in items] == ["q", "go on"]


def test_a_text_with_the_id_of_a_call_is_sent_without_it(sandbox: Any) -> None:
    standard = {"output_version": "v1", **OPENAI}
    answer = AIMessage([MERGED], tool_calls=[call("call_1")], response_metadata=standard)
    result = ToolMessage("18", tool_call_id="call_1")
    _, text, made, output, _ = sent_to(sandbox, [Q, answer, result, NEXT])
    assert text["content"][0]["text"] == "It is mild"
    assert "id" not in text
    assert made["call_id"] == output["call_id"] == "call_1"


def test_a_change_of_an_item_is_reported_with_the_position_of_its_message(sandbox: Any) -> None:
    model = mend(DESTINATIONS["responses"].model(sandbox), on_error="raise", report="all")
    answer = model.invoke([Q, said(TEXT), NEXT, said(PATCH), NEXT])
    changes = answer.response_metadata["chatmend"]["changes"]
    assert [(one["code"], one["index"], one["applied"]) for one in changes] == [
        ("TOOL007", 3, True)
    ]
