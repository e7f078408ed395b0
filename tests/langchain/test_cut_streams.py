"""What a stream leaves in the content of an answer if it ends in the middle of a block."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chatmend.langchain import mend
from tests.langchain.classes import DESTINATIONS
from tests.langchain.fuzz import refusal
from tests.langchain.shapes import broken, call
from tests.langchain.test_converters import sent, unchanged
from tests.langchain.test_damage import look

Q, NEXT = HumanMessage("q"), HumanMessage("go on")
CLASSES = ["responses", *{one.path: name for name, one in DESTINATIONS.items()}.values()]
"""One destination of each class, and the other API of ChatOpenAI."""
PROVIDERS = ["openai", "anthropic", "bedrock_converse", "google_genai", None]
TEXT = {"type": "text", "text": "I look."}
SEARCH = {
    "type": "server_tool_call_chunk",
    "id": "srvtoolu_1",
    "name": "web_search",
    "args": '{"query": "wea',
    "index": 1,
}
CHUNK = {
    "type": "tool_call_chunk",
    "id": "call_1",
    "name": "look",
    "args": '{"at": "Par',
    "index": 1,
}
STARTED = {"type": "tool_use", "id": "call_1", "name": "look", "index": 1}
"""A block of ChatBedrockConverse before the first part of its input."""


def cut(*blocks: Any, provider: str | None = "openai", v1: bool = True, **fields: Any) -> AIMessage:
    metadata: dict[str, Any] = {"output_version": "v1"} if v1 else {}
    metadata |= {"model_provider": provider} if provider else {}
    return AIMessage([TEXT, *blocks], response_metadata=metadata, **fields)


@pytest.mark.parametrize("v1", [True, False])
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", CLASSES)
def test_the_next_request_is_accepted(
    sandbox: Any, name: str, provider: str | None, *, v1: bool
) -> None:
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    given: list[dict[str, Any]] = [{"tool_calls": [call()]}, {"invalid_tool_calls": [broken()]}]
    answers = [cut(SEARCH, provider=provider, v1=v1), cut(CHUNK, provider=provider, v1=v1)]
    answers += [cut(CHUNK, provider=provider, v1=v1, **fields) for fields in given]
    if provider != "google_genai":
        answers.append(cut(STARTED, provider=provider, v1=False, tool_calls=[call()]))
    for answer in answers:
        assert refusal(model, sandbox, [Q, answer, NEXT]) is None
        # ChatMistralAI sends no text with calls.
        assert name == "mistral" or "I look." in json.dumps(sandbox.requests[-1].body)


@pytest.mark.parametrize("name", ["anthropic", "openai", "bedrock claude"])
def test_the_search_that_was_cut_is_sent_as_text(name: str) -> None:
    _, answer, _ = sent(name, [Q, cut(SEARCH, provider="anthropic"), NEXT])
    assert answer.content[0] == TEXT
    assert '"{\\"query\\": \\"wea"' in answer.content[1]["text"]  # type: ignore[index, call-overload]


@pytest.mark.parametrize("name", ["openai", "azure", "fireworks"])
def test_a_chunk_of_a_listed_call_is_removed(name: str) -> None:
    given = cut(CHUNK, tool_calls=[call()])
    _, answer, result, _ = sent(name, [Q, given, ToolMessage("18", tool_call_id="call_1"), NEXT])
    assert isinstance(answer, AIMessage)
    assert answer.content == [TEXT]
    assert answer.tool_calls == [call()]
    assert isinstance(result, ToolMessage)


@pytest.mark.parametrize("name", ["anthropic", "bedrock claude", "responses", "gemini", "ollama"])
def test_a_chunk_that_the_class_translates_or_leaves_out_is_unchanged(name: str) -> None:
    result = ToolMessage("18", tool_call_id="call_1")
    assert unchanged(name, [Q, cut(CHUNK, tool_calls=[call()]), result, NEXT])


def test_a_call_without_its_input_is_sent_with_its_arguments(sandbox: Any) -> None:
    """ChatBedrockConverse raises ``KeyError: 'input'``."""
    model = mend(DESTINATIONS["bedrock claude"].model(sandbox), on_error="raise")
    answer = cut(STARTED, provider="bedrock_converse", v1=False, tool_calls=[call()])
    result = ToolMessage("18", tool_call_id="call_1")
    assert refusal(model.bind_tools([look]), sandbox, [Q, answer, result, NEXT]) is None
    assert sandbox.requests[-1].body["messages"][1]["content"] == [
        {"text": "I look."},
        {"toolUse": {"toolUseId": "call_1", "name": "look", "input": {"at": "Paris"}}},
    ]


def test_an_answer_of_v1_with_a_call_is_sent_to_cohere_as_a_string() -> None:
    given = cut({**call()}, tool_calls=[call()])
    _, answer, *_ = sent("cohere", [Q, given, ToolMessage("18", tool_call_id="call_1"), NEXT])
    assert answer.content == "I look."


@pytest.mark.parametrize("provider", ["anthropic", None])
@pytest.mark.parametrize("name", ["anthropic", "anthropic 4.5"])
def test_an_event_of_a_stream_is_joined_with_its_call_for_claude(
    sandbox: Any, name: str, provider: str | None
) -> None:
    delta = {"type": "input_json_delta", "partial_json": '{"at": "Par', "index": 1}
    answer = cut({**STARTED, "input": {}}, delta, provider=provider, v1=False)
    model = mend(DESTINATIONS[name].model(sandbox), on_error="raise").bind_tools([look])
    report = model.invoke([Q, answer, NEXT]).response_metadata["chatmend"]
    assert not sandbox.refusals
    assert "PART004" in [change["code"] for change in report["changes"]]
    assert "Par" in json.dumps(sandbox.requests[-1].body["messages"])
