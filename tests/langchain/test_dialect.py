"""Reading and writing LangChain message objects.

A change is written to every copy of the changed value in a message; everything else is unchanged.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

pytest.importorskip("langchain_core")
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
    messages_to_dict,
)

import chatmend
from chatmend.errors import TranscriptError
from chatmend.langchain.dialect import LangChainDialect
from chatmend.langchain.partners import find_destination_by_name
from chatmend.langchain.settings import RepairSettings
from chatmend.transcript import Message, ToolCall
from tests.corpus import rows
from tests.langchain.repairing import repaired
from tests.langchain.shapes import SHAPES, SIGNATURE, SIGNATURES, broken, call, raw
from tests.scale import sampled

TARGETS = [
    "openai/gpt-4o",
    "openai/responses/gpt-5",
    "anthropic/claude-haiku-4-5",
    "mistral/mistral-large-latest",
]
TARGETS += ["gemini/gemini-2.5-flash", "bedrock/amazon.nova-pro-v1:0"]
SENT = list(product(SHAPES, TARGETS))


def state(messages: list[BaseMessage]) -> str:
    """Return the whole content of messages as a string, to compare before and after."""
    return json.dumps(messages_to_dict(messages), default=repr, sort_keys=True)


@pytest.mark.parametrize("name", SHAPES)
def test_writing_an_unchanged_message_returns_the_same_object(name: str) -> None:
    message, dialect = SHAPES[name], LangChainDialect()
    before = state([message])
    assert dialect.write(dialect.read(message)) is message
    assert state([message]) == before


@pytest.mark.parametrize("target", ["other", *TARGETS])
def test_a_clean_conversation_is_returned_as_the_same_list(target: str) -> None:
    messages = [
        SHAPES["system"],
        HumanMessage("What is it like there?"),
        AIMessage("I look.", tool_calls=[call("abcdefgh1"), call("abcdefgh2", at="Rome")]),
        ToolMessage("18", tool_call_id="abcdefgh1", name="look", artifact=[1]),
        ToolMessage("19", tool_call_id="abcdefgh2", name="look"),
        AIMessage(
            "Fine.", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        ),
        HumanMessage("Thanks"),
    ]
    done = chatmend.repair(messages, target)
    assert done.messages is messages
    assert done.changes == ()


class Suspicious(LangChainDialect):
    """A dialect whose scan reports every symptom, so that every rule runs on every window."""

    def scanner(self, limits: Any) -> Any:
        scan_clean = super().scanner(limits)

        def scan(natives: Any, start: int, memory: Any) -> tuple[int, int, list[str]]:
            stop, _, ids = scan_clean(natives, start, memory)
            return stop, ~0, ids

        return scan


@pytest.mark.parametrize(("name", "target"), sampled(SENT, SENT[::5]))
def test_no_rule_changes_what_the_scan_calls_clean(name: str, target: str) -> None:
    messages = [HumanMessage("hello"), SHAPES[name], HumanMessage("go on")]
    destination = find_destination_by_name(target)
    dialects = (
        LangChainDialect(chat_messages=destination.chat_messages),
        Suspicious(chat_messages=destination.chat_messages),
    )
    one, all_rules = (
        chatmend.repair(messages, destination.target, dialect=dialect) for dialect in dialects
    )
    assert [change.code for change in one.changes] == [change.code for change in all_rules.changes]
    assert state(one.messages) == state(all_rules.messages)


@pytest.mark.parametrize(("name", "target"), sampled(SENT, SENT[::5]))
def test_a_repaired_conversation_needs_no_repair_and_can_be_replayed(
    name: str, target: str
) -> None:
    messages = [HumanMessage("hello"), SHAPES[name], HumanMessage("go on")]
    destination = find_destination_by_name(target)
    done = repaired(messages, destination, RepairSettings(on_error="raise"))
    again = repaired(done.messages, destination, RepairSettings(on_error="raise"))
    assert again.messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages


_WAV = {"data": "QUJD", "format": "wav"}
_ITEM_PARTS: dict[str, dict[str, Any]] = {
    "input_audio": {"type": "input_audio", "input_audio": _WAV},
    "input_image": {"type": "input_image", "image_url": "data:image/png;base64,QUJDRA=="},
    "input_file": {"type": "input_file", "file_data": "data:application/pdf;base64,QUJDRA=="},
}
"""Parts of the Responses API that no target takes: audio, and files that cannot be read."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", _ITEM_PARTS)
def test_a_text_in_place_of_a_part_of_the_responses_api_is_an_ordinary_text(
    kind: str, target: str
) -> None:
    """Partner packages do not convert ``input_text``, and other providers refuse it."""
    content: Any = [{"type": "text", "text": "Look."}, _ITEM_PARTS[kind]]
    settings, destination = RepairSettings(on_error="raise"), find_destination_by_name(target)
    calls: Any = [{**call(), "id": "abcdefgh1"}]
    result = ToolMessage(content, tool_call_id="abcdefgh1")
    for messages in (
        [HumanMessage(content), AIMessage("Yes."), HumanMessage("go on")],
        [HumanMessage("look"), AIMessage("", tool_calls=calls), result],
    ):
        done = repaired(messages, destination, settings).messages
        assert "input_text" not in json.dumps([message.content for message in done])
        assert repaired(done, destination, settings).messages is done


_MIRRORED: dict[str, tuple[AIMessage, list[str]]] = {
    "anthropic": (SHAPES["anthropic blocks"], ["toolu_1"]),  # type: ignore[dict-item]
    "responses": (SHAPES["responses items"], ["call_1"]),  # type: ignore[dict-item]
    "v1": (SHAPES["v1 answer"], ["call_1"]),  # type: ignore[dict-item]
    "v1 invalid": (SHAPES["v1 invalid call"], ["call_1"]),  # type: ignore[dict-item]
    "gemini": (SHAPES["gemini signatures"], ["call_1"]),  # type: ignore[dict-item]
    "chunk": (SHAPES["chunk with calls"], ["call_1"]),  # type: ignore[dict-item]
    "openai kwargs": (
        AIMessage("", tool_calls=[call()], additional_kwargs={"tool_calls": [raw()]}),
        ["call_1"],
    ),
    "kwargs alone": (SHAPES["kwargs without parsed calls"], ["call_9"]),  # type: ignore[dict-item]
    "content alone": (SHAPES["anthropic tool use alone"], ["toolu_1"]),  # type: ignore[dict-item]
    "invalid": (SHAPES["valid and invalid calls"], ["call_1", "call_2"]),  # type: ignore[dict-item]
}


def with_new_ids(message: Message) -> Message:
    parts = tuple(
        replace(part, id=f"new_{part.id}") if isinstance(part, ToolCall) else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def without_calls(message: Message) -> Message:
    return replace(
        message, parts=tuple(part for part in message.parts if not isinstance(part, ToolCall))
    )


def ids_in(value: Any) -> set[str]:
    """Return every string of a nested value."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {found for item in (*value.keys(), *value.values()) for found in ids_in(item)}
    return (
        {found for item in value for found in ids_in(item)}
        if isinstance(value, list | tuple)
        else set()
    )


@pytest.mark.parametrize("name", _MIRRORED)
def test_a_new_call_id_is_written_to_every_copy_of_the_call(name: str) -> None:
    message, ids = _MIRRORED[name]
    before, dialect = state([message]), LangChainDialect()
    written = dialect.write(with_new_ids(dialect.read(message)))
    assert isinstance(written, AIMessage)
    found = ids_in(written.model_dump())
    assert not found & set(ids)
    assert {f"new_{one}" for one in ids} <= found
    assert state([message]) == before


@pytest.mark.parametrize("name", _MIRRORED)
def test_every_copy_of_a_dropped_call_is_dropped(name: str) -> None:
    message, ids = _MIRRORED[name]
    dialect = LangChainDialect()
    written = dialect.write(without_calls(dialect.read(message)))
    assert isinstance(written, AIMessage)
    assert not ids_in(written.model_dump()) & set(ids)
    assert not written.tool_calls + written.invalid_tool_calls


def test_a_signature_is_stored_under_the_new_id_of_its_call() -> None:
    message, dialect = SHAPES["gemini signatures"], LangChainDialect()
    written: Any = dialect.write(with_new_ids(dialect.read(message)))
    assert written.additional_kwargs[SIGNATURES] == {"new_call_1": SIGNATURE}


def test_two_calls_of_one_id_in_one_message_keep_their_own_blocks() -> None:
    blocks = [
        {"type": "tool_use", "id": "same", "name": "look", "input": {"at": at}}
        for at in ("Paris", "Rome")
    ]
    message = AIMessage(blocks, tool_calls=[call("same", at="Paris"), call("same", at="Rome")])
    results = [ToolMessage(text, tool_call_id="same") for text in ("18", "19")]
    done = chatmend.repair(
        [HumanMessage("q"), message, *results], "anthropic/claude-haiku-4-5"
    ).messages
    ids = [one["id"] for one in done[1].tool_calls]
    assert len(set(ids)) == 2
    assert [(block["id"], block["input"]["at"]) for block in done[1].content] == [
        (ids[0], "Paris"),
        (ids[1], "Rome"),
    ]
    assert [(result.tool_call_id, result.content) for result in done[2:]] == [
        (ids[0], "18"),
        (ids[1], "19"),
    ]


def test_a_changed_message_keeps_its_other_fields() -> None:
    message = AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "tool_use", "id": "a.b", "name": "f",
          "input": {"at": "Paris"}, "caller": {"type": "direct"}}],
        id="m1", name="n", tool_calls=[{**call("a.b", "f"), "extras": {"x": 1}}], response_metadata={"model_name": "c"},
        additional_kwargs={"unknown": [1]}, usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    )  # fmt: skip
    result = ToolMessage("18", tool_call_id="a.b", artifact={"rows": 1}, status="error", id="t1")
    destination = find_destination_by_name("anthropic/claude-haiku-4-5")
    done: Any = repaired(
        [HumanMessage("q"), message, result], destination, RepairSettings(on_error="raise")
    ).messages
    new = done[1].tool_calls[0]["id"]
    assert new != "a.b"
    assert done[1].tool_calls[0] == {**message.tool_calls[0], "id": new}
    assert done[1].content[0] is message.content[0]
    assert done[1].content[1] == {**message.content[1], "id": new}  # type: ignore[dict-item]
    for name in ("id", "name", "response_metadata", "additional_kwargs", "usage_metadata"):
        assert getattr(done[1], name) == getattr(message, name)
    assert (done[2].tool_call_id, done[2].artifact, done[2].status, done[2].id) == (
        new,
        {"rows": 1},
        "error",
        "t1",
    )


def test_cut_off_arguments_are_kept_as_raw_text() -> None:
    messages = [
        HumanMessage("q"),
        AIMessage("", invalid_tool_calls=[broken()]),
        HumanMessage("next"),
    ]
    done = chatmend.repair(messages, "anthropic/claude-haiku-4-5").messages
    assert done[1].invalid_tool_calls == []
    assert done[1].tool_calls[0]["args"] == {"_raw_arguments": '{"at": "Par'}
    assert done[2].tool_call_id == done[1].tool_calls[0]["id"] == "call_1"


def test_a_lone_surrogate_is_replaced_in_text_and_arguments() -> None:
    messages = [
        HumanMessage("a\ud800b"),
        AIMessage("", tool_calls=[call("call_1", at="\ud83d")]),
        ToolMessage("x\udc00", tool_call_id="call_1"),
    ]
    done = chatmend.repair(messages, "openai/gpt-4o").messages
    state(done).encode("utf-8")
    assert done[0].content == "a\ufffdb"
    assert done[1].tool_calls[0]["args"] == {"at": "\ufffd"}
    assert done[2].content == "x\ufffd"


def test_a_remove_message_is_dropped_and_reported() -> None:
    messages = [HumanMessage("q"), AIMessage("", tool_calls=[call()]), SHAPES["order to remove"]]
    messages += [ToolMessage("18", tool_call_id="call_1")]
    done = repaired(
        messages, find_destination_by_name("openai/gpt-4o"), RepairSettings(on_error="raise")
    )
    assert done.messages == [messages[0], messages[1], messages[3]]
    assert [change.code for change in done.changes] == ["ROLE001"]


@pytest.mark.parametrize(
    "name", ["chat message user", "chat message assistant", "chat message system"]
)
def test_a_chat_message_becomes_a_message_of_its_role_if_the_partner_refuses_it(name: str) -> None:
    kinds = {"user": "human", "assistant": "ai", "system": "system"}
    message: Any = SHAPES[name]
    messages = [message, HumanMessage("hello")]
    kept = repaired(
        messages, find_destination_by_name("openai/gpt-4o"), RepairSettings(on_error="raise")
    ).messages
    converted = repaired(
        messages,
        find_destination_by_name("gemini/gemini-2.5-flash"),
        RepairSettings(on_error="raise"),
    ).messages
    assert kept is messages
    assert any(
        other.type == kinds[message.role] and message.content in str(other.content)
        for other in converted
    )
    assert all(other.type != "chat" for other in converted)


def _conversations() -> list[list[Any]]:
    bodies = [row["body"] for row in rows("requests_accepted")]
    found = [body["messages"] for body in bodies if isinstance(body.get("messages"), list)]
    if not found:
        pytest.skip("the recorded requests are not available")
    return found


def test_writing_a_recorded_conversation_returns_the_same_messages() -> None:
    message_count = 0
    for messages in _conversations():
        try:
            converted = convert_to_messages(messages)
        except Exception:  # noqa: BLE001, S112 - LangChain itself cannot read it
            continue
        dialect = LangChainDialect()
        message_count += len(converted)
        assert all(dialect.write(dialect.read(message)) is message for message in converted)
    assert message_count > 1000


@pytest.mark.parametrize("malformed", [None, "look", 7, ["look"]])
def test_a_malformed_entry_becomes_text_and_other_calls_are_kept(malformed: Any) -> None:
    answer = AIMessage(
        "I look.", tool_calls=[{"name": "look", "args": {"at": "Oslo"}, "id": "call_1"}]
    )
    # LangChain checks the types of calls only when a message is created.
    answer.tool_calls.append(malformed)
    answer.invalid_tool_calls = malformed
    done = chatmend.repair([HumanMessage("Look!"), answer, HumanMessage("And?")], "openai/gpt-4o")
    assert "malformed-tool-call" in [change.rule for change in done.changes]
    sent = done.messages[1]
    assert isinstance(sent, AIMessage)
    assert [made["id"] for made in sent.tool_calls] == ["call_1"]
    assert sent.invalid_tool_calls == []
    assert json.dumps(malformed) in str(sent.text)
    assert [
        message.tool_call_id for message in done.messages if isinstance(message, ToolMessage)
    ] == ["call_1"]
    assert chatmend.repair(done.messages, "openai/gpt-4o").messages is done.messages


def test_calls_in_a_tuple_are_recognised() -> None:
    answer = AIMessage("I look.")
    answer.tool_calls = ({"name": "look", "args": {"at": "Oslo"}, "id": "call_1"},)  # type: ignore[assignment]
    messages = [HumanMessage("Look!"), answer, ToolMessage("18", tool_call_id="call_1")]
    assert chatmend.repair(messages, "openai/gpt-4o").messages is messages


def test_an_invalid_call_without_a_type_stays_an_invalid_call() -> None:
    made = [{"name": "look", "args": {}, "id": 41 * "a", "type": "tool_call"}]
    answer = AIMessage("I look.", tool_calls=made)
    answer.invalid_tool_calls = [{"name": "look", "args": "[", "id": "call_2", "error": None}]  # type: ignore[typeddict-item]
    sent = chatmend.repair(
        [HumanMessage("Look!"), answer, HumanMessage("And?")], "openai/gpt-4o"
    ).messages[1]
    assert isinstance(sent, AIMessage)
    assert len(sent.tool_calls) + len(sent.invalid_tool_calls) == 2


def test_a_call_without_any_keys_gets_an_id_and_a_result() -> None:
    answer = AIMessage("I look.")
    answer.tool_calls = [{}]  # type: ignore[typeddict-item]
    sent = chatmend.repair(
        [HumanMessage("Look!"), answer, HumanMessage("And?")], "openai/gpt-4o"
    ).messages
    (result,) = [message for message in sent if isinstance(message, ToolMessage)]
    assert result.tool_call_id


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_messages_in_a_request_body_are_no_texts(key: str) -> None:
    """Each message became a text with its ``repr``."""
    body = {"model": "gpt-4o", key: [{"role": "user", "content": "go"}, AIMessage("I go.")]}
    with pytest.raises(TranscriptError, match="pass the list to repair without a dialect"):
        chatmend.repair_request(body, "openai/gpt-4o")
    with pytest.raises(TranscriptError, match="'openai_chat'"):
        chatmend.repair(body[key], "openai/gpt-4o", dialect="openai_chat")  # type: ignore[arg-type]
    assert chatmend.repair(body[key], "openai/gpt-4o").changes == ()  # type: ignore[arg-type]
