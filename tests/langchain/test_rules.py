"""The rules for what a converter cannot send: true positions, effects, policy, learned structures."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

import chatmend
from chatmend import Effect
from chatmend.langchain.partners import find_destination_by_name
from chatmend.langchain.settings import RepairSettings
from tests.langchain import repairing
from tests.langchain.shapes import call

VIDEO = {"type": "video", "base64": "QUJD", "mime_type": "video/mp4"}
GPT, CLAUDE, GEMINI = "openai/gpt-4o", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash"


def repaired(messages: list[BaseMessage], target: str, **policy: Any) -> Any:
    settings = RepairSettings(chatmend.Policy(**policy) if policy else None, on_error="raise")
    return repairing.repaired(messages, find_destination_by_name(target), settings)


def turn(number: int, *blocks: Any) -> list[BaseMessage]:
    question: Any = [{"type": "text", "text": f"question {number}"}, *blocks]
    return [HumanMessage(question), AIMessage(f"answer {number}")]


def test_each_defect_has_a_change_with_its_own_position_and_effect() -> None:
    messages = [
        *turn(0, VIDEO),
        *(message for number in range(1, 51) for message in turn(number)),
        *turn(51, {"type": "brand_new", "x": 1}),
        *turn(52, {"type": "input_text", "text": "a"}),
    ]
    done = repaired(messages, GPT)
    assert [(change.code, change.index, change.effect) for change in done.changes] == [
        ("PART002", 0, Effect.DROPS),
        ("PART002", 102, Effect.DEGRADES),
        ("PART002", 104, Effect.RESHAPES),
    ]
    assert [len(change.before) for change in done.changes] == [1, 1, 1]
    assert chatmend.replay(messages, done.changes) == done.messages
    assert repaired(done.messages, GPT).messages is done.messages


def test_a_policy_that_forbids_drops_still_permits_the_milder_change_of_another_message() -> None:
    messages = [*turn(0, VIDEO), *turn(1, {"type": "input_text", "text": "a"}), HumanMessage("q")]
    done = repaired(messages, GPT, allow=Effect.DEGRADES)
    assert [change.applied for change in done.changes] == [False, False, True]
    assert done.messages[0] is messages[0]


@pytest.mark.parametrize("first", ["data:image/png;base64,QUJD", "https://e.example/a.png"])
def test_a_link_that_holds_its_data_is_found_after_a_link_of_the_same_structure(first: str) -> None:
    links = ["data:image/png;base64,QUJD", "https://e.example/a.png"]
    others = [first, *(link for link in links if link != first)] * 2
    messages = [
        message
        for number, url in enumerate(others)
        for message in turn(number, {"type": "image", "url": url})
    ]
    done = repaired([*messages, HumanMessage("q")], GEMINI, images="off")
    for message, url in zip(done.messages[::2], others, strict=False):
        assert ("base64" in message.content[1]) is url.startswith("data:")  # type: ignore[operator]


def test_a_result_in_a_user_message_becomes_a_message_and_keeps_its_status() -> None:
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    messages: list[BaseMessage] = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[call("c1")]),
        HumanMessage([failed, {"type": "text", "text": "go on"}]),
    ]
    done = repaired(messages, GPT)
    result: Any = done.messages[2]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.tool_call_id, result.status) == ("no", "c1", "error")
    assert done.messages[3].content == [{"type": "text", "text": "go on"}]
    assert [(change.code, change.index) for change in done.changes] == [("TOOL020", 2)]
    assert repaired(messages, CLAUDE).messages is messages


def test_calls_are_written_to_the_only_field_that_is_sent() -> None:
    answer = AIMessage("", tool_calls=[call("c1"), call("c2")])
    messages = [
        HumanMessage("q"),
        answer,
        *(ToolMessage("18", tool_call_id=c) for c in ("c1", "c2")),
    ]
    done = repaired(messages, "nvidia_nim/meta/llama-3.3-70b-instruct")
    sent = done.messages[1].additional_kwargs["tool_calls"]
    assert [(one["id"], one["type"], one["function"]["name"]) for one in sent] == [
        ("c1", "function", "look"),
        ("c2", "function", "look"),
    ]
    assert repaired(done.messages, "nvidia_nim/meta/llama-3.3-70b-instruct").changes == ()


def test_a_call_that_is_repeated_as_a_legacy_call_is_sent_once() -> None:
    kwargs = {"function_call": {"name": "look", "arguments": "{}"}, "other": 1}
    answer = AIMessage("", tool_calls=[call("c1")], additional_kwargs=kwargs)
    messages = [HumanMessage("q"), answer, ToolMessage("18", tool_call_id="c1")]
    done = repaired(messages, "groq/llama-3.3-70b-versatile")
    assert done.messages[1].additional_kwargs == {"other": 1}
    assert repaired(messages, GPT).messages is messages


def test_a_document_gets_a_name_that_bedrock_accepts() -> None:
    pdf = {
        "type": "file",
        "base64": "JVBERi0=",
        "mime_type": "application/pdf",
        "filename": "a.pdf",
    }
    done = repaired(
        [*turn(0, pdf), *turn(1, pdf), HumanMessage("q")], "bedrock/us.amazon.nova-pro-v1:0"
    )
    names = [message.content[1]["name"] for message in done.messages[:4:2]]  # type: ignore[index,call-overload]
    assert names == ["a-pdf", "a-pdf 2"]


def test_a_result_has_the_name_of_its_call_where_gemini_checks_it() -> None:
    named: Any = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[call("c1", "f")]),
        ToolMessage("r", tool_call_id="c1", name="x"),
    ]
    assert repaired(named, GEMINI).messages is named
    assert repaired(named, GPT).messages is named
    done = repaired(named, "gemini/gemini-3-flash-preview")
    assert [message.name for message in done.messages] == [None, None, "f"]
    assert "TOOL016" in [change.code for change in done.changes]
    bare = [*named[:2], ToolMessage("r", tool_call_id="c1")]
    assert repaired(bare, "gemini/gemini-3-flash-preview").messages[2] is bare[2]


def asked(content: Any) -> list[BaseMessage]:
    result = ToolMessage(content, tool_call_id="c1", name="f")
    return [HumanMessage("q"), AIMessage("", tool_calls=[call("c1", "f")]), result]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": {"$ref": "#/b"}}', {"output": '{"a": {"$ref": "#/b"}}'}),
        ('[{"$ref": "#/b"}]', {"output": '[{"$ref": "#/b"}]'}),
        ('{"result": {"$ref": "#/b"}}', {"result": '{"$ref": "#/b"}'}),
        ('{"\\u0024ref": "#/b"}', {"output": '{"$ref": "#/b"}'}),
    ],
)
def test_a_text_that_is_parsed_to_references_becomes_an_object_with_text(
    text: str, expected: Any
) -> None:
    messages = asked(text)
    done = repaired(messages, GEMINI)
    assert [(change.code, change.effect) for change in done.changes] == [
        ("TOOL023", Effect.RESHAPES)
    ]
    assert json.loads(done.messages[2].content) == expected  # type: ignore[arg-type]
    assert repaired(done.messages, GEMINI).messages is done.messages
    assert repaired(messages, GPT).messages is messages
    assert repaired(messages, "gemini/gemini-2.0-flash").messages is messages


@pytest.mark.parametrize("text", ['{"a": "$ref"}', "see $ref", '{"$ref": 5}', '{"output": "$ref"}'])
def test_a_text_that_is_parsed_to_no_reference_is_unchanged(text: str) -> None:
    messages = asked(text)
    assert repaired(messages, GEMINI).messages is messages
