"""LangChain's message objects, read and written: nothing is touched but what changes, and that in all its places."""

from __future__ import annotations

import json
from dataclasses import replace
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
from chatmend.langchain.dialect import Dialect
from chatmend.langchain.mending import Settings, mended
from chatmend.langchain.partners import place_named
from chatmend.transcript import Message, ToolCall
from tests.corpus import rows
from tests.langchain.shapes import SHAPES, SIGNATURE, SIGNATURES, broken, call, raw

TARGETS = ["openai/gpt-4o", "openai/responses/gpt-5", "anthropic/claude-haiku-4-5", "mistral/mistral-large-latest"]
TARGETS += ["gemini/gemini-2.5-flash", "bedrock/amazon.nova-pro-v1:0"]


def state(messages: list[BaseMessage]) -> str:
    """Everything that messages hold, to compare before and after."""
    return json.dumps(messages_to_dict(messages), default=repr, sort_keys=True)


@pytest.mark.parametrize("name", SHAPES)
def test_what_was_read_is_written_as_the_very_object(name: str) -> None:
    message, dialect = SHAPES[name], Dialect()
    before = state([message])
    assert dialect.write(dialect.read(message)) is message
    assert state([message]) == before


@pytest.mark.parametrize("target", ["other", *TARGETS])
def test_a_sound_conversation_comes_back_as_the_same_list(target: str) -> None:
    messages = [
        SHAPES["system"],
        HumanMessage("What is it like there?"),
        AIMessage("I look.", tool_calls=[call("abcdefgh1"), call("abcdefgh2", at="Rome")]),
        ToolMessage("18", tool_call_id="abcdefgh1", name="look", artifact=[1]),
        ToolMessage("19", tool_call_id="abcdefgh2", name="look"),
        AIMessage("Fine.", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
        HumanMessage("Thanks"),
    ]
    done = chatmend.repair(messages, target)
    assert done.messages is messages
    assert done.changes == ()


class Suspicious(Dialect):
    """A dialect whose scan sees every symptom everywhere, so that every rule runs on every window."""

    def scanner(self, limits: Any) -> Any:
        look = super().scanner(limits)

        def scan(natives: Any, start: int, memory: Any) -> tuple[int, int, list[str]]:
            stop, _, ids = look(natives, start, memory)
            return stop, ~0, ids

        return scan


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_what_the_scan_calls_clean_no_rule_would_change(name: str, target: str) -> None:
    messages = [HumanMessage("hello"), SHAPES[name], HumanMessage("go on")]
    place = place_named(target)
    dialects = (Dialect(chat_messages=place.chat_messages), Suspicious(chat_messages=place.chat_messages))
    one, all_rules = (chatmend.repair(messages, place.target, dialect=dialect) for dialect in dialects)
    assert [change.code for change in one.changes] == [change.code for change in all_rules.changes]
    assert state(one.messages) == state(all_rules.messages)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_repaired_conversation_needs_no_repair_and_can_be_replayed(name: str, target: str) -> None:
    messages = [HumanMessage("hello"), SHAPES[name], HumanMessage("go on")]
    place = place_named(target)
    done = mended(messages, place, Settings(on_error="raise"))
    again = mended(done.messages, place, Settings(on_error="raise"))
    assert again.messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages


_MIRRORED: dict[str, tuple[AIMessage, list[str]]] = {
    "anthropic": (SHAPES["anthropic blocks"], ["toolu_1"]),  # type: ignore[dict-item]
    "responses": (SHAPES["responses items"], ["call_1"]),  # type: ignore[dict-item]
    "v1": (SHAPES["v1 answer"], ["call_1"]),  # type: ignore[dict-item]
    "v1 invalid": (SHAPES["v1 invalid call"], ["call_1"]),  # type: ignore[dict-item]
    "gemini": (SHAPES["gemini signatures"], ["call_1"]),  # type: ignore[dict-item]
    "chunk": (SHAPES["chunk with calls"], ["call_1"]),  # type: ignore[dict-item]
    "openai kwargs": (AIMessage("", tool_calls=[call()], additional_kwargs={"tool_calls": [raw()]}), ["call_1"]),
    "kwargs alone": (SHAPES["kwargs without parsed calls"], ["call_9"]),  # type: ignore[dict-item]
    "content alone": (SHAPES["anthropic tool use alone"], ["toolu_1"]),  # type: ignore[dict-item]
    "invalid": (SHAPES["valid and invalid calls"], ["call_1", "call_2"]),  # type: ignore[dict-item]
}


def renamed(message: Message) -> Message:
    parts = tuple(replace(part, id=f"new_{part.id}") if isinstance(part, ToolCall) else part for part in message.parts)
    return replace(message, parts=parts)


def without_calls(message: Message) -> Message:
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, ToolCall)))


def ids_in(value: Any) -> set[str]:
    """Every string of a nested value."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {found for item in (*value.keys(), *value.values()) for found in ids_in(item)}
    return {found for item in value for found in ids_in(item)} if isinstance(value, list | tuple) else set()


@pytest.mark.parametrize("name", _MIRRORED)
def test_a_renamed_call_is_renamed_in_every_place(name: str) -> None:
    message, ids = _MIRRORED[name]
    before, dialect = state([message]), Dialect()
    written = dialect.write(renamed(dialect.read(message)))
    assert isinstance(written, AIMessage)
    found = ids_in(written.model_dump())
    assert not found & set(ids)
    assert {f"new_{one}" for one in ids} <= found
    assert state([message]) == before


@pytest.mark.parametrize("name", _MIRRORED)
def test_a_dropped_call_is_dropped_in_every_place(name: str) -> None:
    message, ids = _MIRRORED[name]
    dialect = Dialect()
    written = dialect.write(without_calls(dialect.read(message)))
    assert isinstance(written, AIMessage)
    assert not ids_in(written.model_dump()) & set(ids)
    assert not written.tool_calls + written.invalid_tool_calls


def test_a_signature_follows_its_call_to_the_new_id() -> None:
    message, dialect = SHAPES["gemini signatures"], Dialect()
    written: Any = dialect.write(renamed(dialect.read(message)))
    assert written.additional_kwargs[SIGNATURES] == {"new_call_1": SIGNATURE}


def test_two_calls_of_one_id_in_one_message_keep_their_own_blocks() -> None:
    blocks = [{"type": "tool_use", "id": "same", "name": "look", "input": {"at": at}} for at in ("Paris", "Rome")]
    message = AIMessage(blocks, tool_calls=[call("same", at="Paris"), call("same", at="Rome")])
    results = [ToolMessage(text, tool_call_id="same") for text in ("18", "19")]
    done = chatmend.repair([HumanMessage("q"), message, *results], "anthropic/claude-haiku-4-5").messages
    ids = [one["id"] for one in done[1].tool_calls]
    assert len(set(ids)) == 2
    assert [(block["id"], block["input"]["at"]) for block in done[1].content] == [(ids[0], "Paris"), (ids[1], "Rome")]
    assert [(result.tool_call_id, result.content) for result in done[2:]] == [(ids[0], "18"), (ids[1], "19")]


def test_what_a_rule_does_not_touch_stays_in_a_changed_message() -> None:
    message = AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "tool_use", "id": "a.b", "name": "f",
          "input": {"at": "Paris"}, "caller": {"type": "direct"}}],
        id="m1", name="n", tool_calls=[{**call("a.b", "f"), "extras": {"x": 1}}], response_metadata={"model_name": "c"},
        additional_kwargs={"unknown": [1]}, usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    )  # fmt: skip
    result = ToolMessage("18", tool_call_id="a.b", artifact={"rows": 1}, status="error", id="t1")
    place = place_named("anthropic/claude-haiku-4-5")
    done: Any = mended([HumanMessage("q"), message, result], place, Settings(on_error="raise")).messages
    new = done[1].tool_calls[0]["id"]
    assert new != "a.b"
    assert done[1].tool_calls[0] == {**message.tool_calls[0], "id": new}
    assert done[1].content[0] is message.content[0]
    assert done[1].content[1] == {**message.content[1], "id": new}  # type: ignore[dict-item]
    for name in ("id", "name", "response_metadata", "additional_kwargs", "usage_metadata"):
        assert getattr(done[1], name) == getattr(message, name)
    assert (done[2].tool_call_id, done[2].artifact, done[2].status, done[2].id) == (new, {"rows": 1}, "error", "t1")


def test_cut_off_arguments_are_kept_whole() -> None:
    messages = [HumanMessage("q"), AIMessage("", invalid_tool_calls=[broken()]), HumanMessage("next")]
    done = chatmend.repair(messages, "anthropic/claude-haiku-4-5").messages
    assert done[1].invalid_tool_calls == []
    assert done[1].tool_calls[0]["args"] == {"_raw_arguments": '{"at": "Par'}
    assert done[2].tool_call_id == done[1].tool_calls[0]["id"] == "call_1"


def test_half_a_character_is_mended_in_text_and_arguments() -> None:
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


def test_an_order_to_remove_is_no_message_and_is_told() -> None:
    messages = [HumanMessage("q"), AIMessage("", tool_calls=[call()]), SHAPES["order to remove"]]
    messages += [ToolMessage("18", tool_call_id="call_1")]
    done = mended(messages, place_named("openai/gpt-4o"), Settings(on_error="raise"))
    assert done.messages == [messages[0], messages[1], messages[3]]
    assert [change.code for change in done.changes] == ["ROLE001"]


@pytest.mark.parametrize("name", ["chat message user", "chat message assistant", "chat message system"])
def test_a_chat_message_becomes_one_of_its_role_where_the_partner_takes_none(name: str) -> None:
    kinds = {"user": "human", "assistant": "ai", "system": "system"}
    message: Any = SHAPES[name]
    messages = [message, HumanMessage("hello")]
    kept = mended(messages, place_named("openai/gpt-4o"), Settings(on_error="raise")).messages
    told = mended(messages, place_named("gemini/gemini-2.5-flash"), Settings(on_error="raise")).messages
    assert kept is messages
    assert any(other.type == kinds[message.role] and message.content in str(other.content) for other in told)
    assert all(other.type != "chat" for other in told)


def _conversations() -> list[list[Any]]:
    bodies = [row["body"] for row in rows("requests_accepted")]
    found = [body["messages"] for body in bodies if isinstance(body.get("messages"), list)]
    if not found:
        pytest.skip("the recorded requests are not at hand")
    return found


def test_every_recorded_conversation_is_written_as_it_was_read() -> None:
    seen = 0
    for messages in _conversations():
        try:
            converted = convert_to_messages(messages)
        except Exception:  # noqa: BLE001, S112 - LangChain itself cannot read it
            continue
        dialect = Dialect()
        seen += len(converted)
        assert all(dialect.write(dialect.read(message)) is message for message in converted)
    assert seen > 1000


@pytest.mark.parametrize("odd", [None, "look", 7, ["look"]])
def test_an_entry_that_is_no_call_is_told_and_costs_no_call_beside_it(odd: Any) -> None:
    asked = AIMessage("I look.", tool_calls=[{"name": "look", "args": {"at": "Oslo"}, "id": "call_1"}])
    asked.tool_calls.append(odd)  # LangChain looks at their types when a message is made, and never again
    asked.invalid_tool_calls = odd
    done = chatmend.repair([HumanMessage("Look!"), asked, HumanMessage("And?")], "openai/gpt-4o")
    assert "malformed-tool-call" in [change.rule for change in done.changes]
    sent = done.messages[1]
    assert isinstance(sent, AIMessage)
    assert [made["id"] for made in sent.tool_calls] == ["call_1"]
    assert sent.invalid_tool_calls == []
    assert json.dumps(odd) in str(sent.text)
    assert [message.tool_call_id for message in done.messages if isinstance(message, ToolMessage)] == ["call_1"]
    assert chatmend.repair(done.messages, "openai/gpt-4o").messages is done.messages


def test_calls_in_a_tuple_are_calls() -> None:
    asked = AIMessage("I look.")
    asked.tool_calls = ({"name": "look", "args": {"at": "Oslo"}, "id": "call_1"},)  # type: ignore[assignment]
    messages = [HumanMessage("Look!"), asked, ToolMessage("18", tool_call_id="call_1")]
    assert chatmend.repair(messages, "openai/gpt-4o").messages is messages


def test_a_broken_call_without_a_type_stays_a_broken_call() -> None:
    made = [{"name": "look", "args": {}, "id": 41 * "a", "type": "tool_call"}]
    asked = AIMessage("I look.", tool_calls=made)
    asked.invalid_tool_calls = [{"name": "look", "args": "[", "id": "call_2", "error": None}]  # type: ignore[typeddict-item]
    sent = chatmend.repair([HumanMessage("Look!"), asked, HumanMessage("And?")], "openai/gpt-4o").messages[1]
    assert isinstance(sent, AIMessage)
    assert len(sent.tool_calls) + len(sent.invalid_tool_calls) == 2


def test_a_call_without_any_of_its_keys_gets_what_it_needs() -> None:
    asked = AIMessage("I look.")
    asked.tool_calls = [{}]  # type: ignore[typeddict-item]
    sent = chatmend.repair([HumanMessage("Look!"), asked, HumanMessage("And?")], "openai/gpt-4o").messages
    (answer,) = [message for message in sent if isinstance(message, ToolMessage)]
    assert answer.tool_call_id
