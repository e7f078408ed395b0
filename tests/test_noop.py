"""A transcript that the target accepts is returned as the same object; unchanged messages keep their identity."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS
from tests import corpus
from tests.targets import ALL, ANTHROPIC_MESSAGES, OPENAI_CHAT

ACCEPTED = corpus.spoken("requests_accepted")
FIRST = "Ab3dEf7hI"  # nine letters and digits: the only form of id that every target accepts


def call(
    call_id: str, arguments: str = '{"city": "Oslo"}', name: str = "weather"
) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def talk() -> list[Any]:
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello, what can I do?"},
        {"role": "user", "content": "Nothing, thanks 🙂"},
    ]


def one_tool() -> list[Any]:
    return [
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call(FIRST)]},
        {"role": "tool", "tool_call_id": FIRST, "content": "21 degrees"},
        {"role": "assistant", "content": "It is 21 degrees."},
        {"role": "user", "content": "And tomorrow?"},
    ]


def anthropic_talk() -> list[Any]:
    return [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "How warm?", "cache_control": {"type": "ephemeral"}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I ask.", "signature": "EqQBCkYIAhgCKkAx"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "21 degrees"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [{"type": "text", "text": "no city"}],
                },
                {"type": "text", "text": "quick!"},
            ],
        },
        {"role": "assistant", "content": "It is 21 degrees."},
        {"role": "user", "content": "Thanks"},
    ]


def readable(messages: list[Any], target: str) -> list[Any]:
    """Return the conversation as a client of that target stores it."""
    if "gemma" in target:  # its chat template has no system role
        messages = [message for message in messages if message["role"] != "system"]
    for message in messages:
        if "tool_calls" not in message:
            continue
        if target.startswith(("deepseek/", "moonshot/kimi-k2-thinking")):
            message["reasoning_content"] = "I ask."
        if "gemini-3" in target:  # requires the thought signature of the first call
            message["tool_calls"][0]["provider_specific_fields"] = {
                "thought_signature": "c2lnbmVkIGJ5IGdlbWluaQ=="
            }
        if target in ("dashscope/qwen-max", "xai/grok-4"):  # refuse null next to calls
            message["content"] = ""
    return messages


def broken() -> list[Any]:
    """Return one broken exchange between clean messages."""
    return [
        {"role": "user", "content": "one", "app_note": {"seen": True}},
        {"role": "assistant", "content": "a clean answer", "app_note": [1]},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": None, "tool_calls": [call(FIRST)], "app_note": "kept"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "a last answer"},
        {"role": "user", "content": "four"},
    ]


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_a_plain_conversation_comes_back_as_the_very_same_list(target: str) -> None:
    messages = readable(talk(), target)
    done = chatmend.repair(messages, target)
    assert (done.messages is messages, done.changes) == (True, ()), done.report()


@pytest.mark.parametrize("target", [target for target in OPENAI_CHAT if "gemma" not in target])
def test_a_finished_tool_exchange_comes_back_as_the_very_same_list(target: str) -> None:
    messages = readable(one_tool(), target)
    done = chatmend.repair(
        messages, target, tools=[{"type": "function", "function": {"name": "weather"}}]
    )
    assert (done.messages is messages, done.changes) == (True, ()), done.report()


@pytest.mark.parametrize("target", ANTHROPIC_MESSAGES)
def test_a_signed_anthropic_exchange_comes_back_as_the_very_same_list(target: str) -> None:
    messages = anthropic_talk()
    done = chatmend.repair(
        messages, target, dialect="anthropic_messages", tools=[{"name": "weather"}]
    )
    assert (done.messages is messages, done.changes) == (True, ()), done.report()


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_a_clean_request_body_comes_back_as_the_very_same_dict(target: str) -> None:
    body = {"model": "m", "messages": readable(talk(), target), "temperature": 0.2}
    assert chatmend.repair_request(body, target).body is body


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_an_empty_list_is_no_reason_for_an_exception(dialect: str, target: str) -> None:
    nothing: list[Any] = []
    done = chatmend.repair(nothing, target, dialect=dialect)
    assert nothing == []
    assert chatmend.replay(nothing, done.changes) == done.messages


def test_an_unknown_target_leaves_even_nonsense_alone() -> None:
    messages = [{"role": "critic"}, 7, None, {"role": "tool", "content": ["?"]}]
    done = chatmend.repair(messages, "other")
    assert (done.messages is messages, done.changes) == (True, ())


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "xai/grok-4"])
def test_messages_beside_a_repair_are_the_very_same_objects(target: str) -> None:
    messages = broken()
    sent = chatmend.repair(messages, target).messages
    assert "No result was recorded for this tool call." in str(sent)
    identities = [id(message) for message in sent]
    untouched = [message for message in messages if "tool_calls" not in message]
    assert [m["content"] for m in untouched if id(m) not in identities] == []


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "bedrock/us.amazon.nova-pro-v1:0"]
)
def test_keys_that_nobody_knows_survive_in_untouched_and_in_touched_messages(target: str) -> None:
    messages = broken()
    messages[3]["tool_calls"][0] |= {
        "id": "not a legal id anywhere !" * 9,
        "app_call_note": "kept too",
    }
    sent = chatmend.repair(messages, target).messages
    notes = [message["app_note"] for message in sent if "app_note" in message]
    assert notes == [{"seen": True}, [1], "kept"]
    (calls,) = [message["tool_calls"] for message in sent if message.get("tool_calls")]
    assert calls[0]["id"] != messages[3]["tool_calls"][0]["id"]
    assert calls[0]["app_call_note"] == "kept too"


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_the_input_is_never_changed(target: str) -> None:
    messages = [
        {"role": "tool", "tool_call_id": "gone", "content": "orphan \ud83d"},
        *broken(),
        {"role": "model", "content": [{"type": "text", "text": " "}], "_private": {"deep": [1]}},
        {"role": "system", "content": "late"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("x y", '{"cut": "of'), call("x y", "")],
        },
    ]
    tools = [{"type": "function", "function": {"name": "weather"}}]
    before = copy.deepcopy((messages, tools))
    chatmend.repair(messages, target, tools=tools)
    assert (messages, tools) == before


@pytest.mark.skipif(not ACCEPTED, reason="the corpus of recorded requests is not at hand")
def test_writing_what_was_read_gives_the_very_object() -> None:
    copied = [
        f"{row['id']}[{at}]"
        for row in ACCEPTED
        for dialect in [DIALECTS[corpus.DIALECTS[row["format"]]]]
        for at, message in enumerate(corpus.messages_of(row))
        if dialect.write(dialect.read(message)) is not message
    ]
    assert copied == []
