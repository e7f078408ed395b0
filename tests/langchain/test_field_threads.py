"""Failures from public threads about LangChain: what the payload of the real class holds after the repair."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

pytest.importorskip("langchain_anthropic")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from chatmend.langchain.hooks import prepare
from tests.langchain.classes import DESTINATIONS
from tests.langchain.shapes import call

QUESTION, NEXT = HumanMessage("q"), HumanMessage("go on")
ASKING = AIMessage("", tool_calls=[call()])
PAGE = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)
PDF = base64.b64encode(PAGE).decode()


def body_of(
    sandbox: Any, name: str, messages: list[BaseMessage], **more: Any
) -> tuple[Any, list[Any]]:
    """The body that the wrapped model sends, and the changes in its report."""
    sandbox.clear()
    answer = mend(DESTINATIONS[name].model(sandbox, **more), on_error="raise").invoke(messages)
    changes = answer.response_metadata.get("chatmend", {}).get("changes", [])
    return sandbox.requests[-1].body, changes


def result_with(content: Any) -> list[BaseMessage]:
    return [QUESTION, ASKING, ToolMessage(content, tool_call_id="call_1")]


def test_a_call_without_text_has_an_empty_text_for_grok(sandbox: Any) -> None:
    body, _ = body_of(sandbox, "xai", result_with("found"))
    assert body["messages"][1]["content"] == ""
    assert [call["id"] for call in body["messages"][1]["tool_calls"]] == ["call_1"]


def test_a_call_without_text_has_null_for_openai(sandbox: Any) -> None:
    body, changes = body_of(sandbox, "openai", result_with("found"))
    assert body["messages"][1]["content"] is None
    assert changes == []


def test_a_call_for_gemini_3_gets_its_signature_through_chat_openai() -> None:
    google = pytest.importorskip("langchain_openai").ChatOpenAI(
        model="gemini-3-pro-preview",
        api_key="k",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
    )
    wrapped = mend(google)
    prepared = prepare(wrapped, result_with("found"), {})
    payload = wrapped._get_request_payload(prepared.messages)
    signed = payload["messages"][1]["tool_calls"][0]["extra_content"]["google"]
    assert base64.b64decode(signed["thought_signature"])
    (change,) = prepared.report()["changes"]
    assert (change["code"], change["applied"]) == ("THINK003", True)


@pytest.mark.parametrize("name", ["openai", "azure", "openrouter"])
def test_a_pdf_of_a_tool_is_sent_by_the_user(sandbox: Any, name: str) -> None:
    part = {"type": "file", "base64": PDF, "mime_type": "application/pdf", "filename": "a.pdf"}
    body, changes = body_of(sandbox, name, result_with([part]))
    result, moved = body["messages"][2:]
    assert (result["role"], moved["role"]) == ("tool", "user")
    assert PDF in json.dumps(moved)
    assert PDF not in json.dumps(result)
    assert [change["code"] for change in changes] == ["IMG011"]


def test_thinking_of_claude_is_no_text_of_gpt(sandbox: Any) -> None:
    thinking = {"type": "thinking", "thinking": "secret plan", "signature": "EqQBCkYIAhgCKkAx"}
    answer = AIMessage(
        [thinking, {"type": "text", "text": "Hello"}],
        response_metadata={"model_provider": "anthropic"},
    )
    body, changes = body_of(sandbox, "responses", [QUESTION, answer, NEXT])
    assert "Hello" in json.dumps(body)
    assert "secret plan" not in json.dumps(body)
    assert [change["effect"] for change in changes] == ["drops"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "custom_tool_call_output", "output": "42"},
        {"type": "json", "json": {"a": "42"}},
        {"type": "function_call_output", "call_id": "x", "output": "42"},
        {"type": "new_block", "value": "42"},
    ],
    ids=lambda block: block["type"],
)
@pytest.mark.parametrize("name", ["anthropic", "vertex claude"])
def test_claude_gets_blocks_of_other_providers_in_results_as_text(
    sandbox: Any, name: str, block: dict[str, Any]
) -> None:
    body, changes = body_of(sandbox, name, result_with([block, {"type": "text", "text": "found"}]))
    (result,) = body["messages"][2]["content"]
    assert [part["type"] for part in result["content"]] == ["text", "text"]
    assert "42" in result["content"][0]["text"]
    assert ("PART002", "degrades") in {(change["code"], change["effect"]) for change in changes}


def test_messages_that_lost_their_class_get_it_back(sandbox: Any) -> None:
    messages = [
        BaseMessage(content="q", type="human"),
        BaseMessage(content="", type="ai", tool_calls=[call()]),
        BaseMessage(content="found", type="tool", tool_call_id="call_1"),
    ]
    for name in ("anthropic", "openai", "responses", "mistral"):
        body, changes = body_of(sandbox, name, messages)
        expected, _ = body_of(sandbox, name, result_with("found"))
        assert body == expected
        found = [change["index"] for change in changes if change["code"] == "ROLE001"]
        assert found == [0, 1, 2]


def test_a_result_that_lost_its_class_and_its_id_becomes_a_note(sandbox: Any) -> None:
    messages = [QUESTION, BaseMessage(content="found", type="tool"), NEXT]
    for name in ("anthropic", "openai"):
        body, changes = body_of(sandbox, name, messages)
        assert "found" in json.dumps(body["messages"])
        assert {"ROLE001", "TOOL005"} <= {change["code"] for change in changes}


@pytest.mark.parametrize("place", ["user", "result"])
@pytest.mark.parametrize("name", ["anthropic", "vertex claude", "bedrock invoke", "openai"])
def test_documents_of_converse_are_sent_in_the_form_of_the_class(
    sandbox: Any, name: str, place: str
) -> None:
    source = {"bytes": PAGE}
    block = {"type": "document", "document": {"format": "pdf", "name": "n", "source": source}}
    content = [{"type": "text", "text": "Read it."}, block]
    messages = [HumanMessage(content)] if place == "user" else result_with(content)
    body, _ = body_of(sandbox, name, messages)
    assert PDF in json.dumps(body)


def test_chat_litellm_sends_a_document_of_a_tool_as_text(sandbox: Any) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "The sky is blue."}
    body, changes = body_of(
        sandbox, "litellm anthropic", result_with([{"type": "document", "source": source}])
    )
    assert "The sky is blue." in json.dumps(body["messages"][2])
    assert "PART002" in {change["code"] for change in changes}
