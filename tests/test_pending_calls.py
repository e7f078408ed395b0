"""Calls that nobody has answered: at the very end some targets take them, anywhere else no target does."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests.every_rule import every_rule
from tests.judges import judge

GPT, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
USER, SAID = {"role": "user", "content": "go"}, {"role": "assistant", "content": "I wait."}


def asks(*ids: str) -> dict[str, Any]:
    calls = [
        {"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


def answered(messages: list[Any]) -> list[str]:
    """The ids of the results, in order."""
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize(
    "messages",
    [
        [USER, asks("a")],
        [USER, asks("a", "b")],
        [USER, asks("a"), result("a"), asks("b")],
        [USER, SAID, USER, asks("a")],
    ],
    ids=["one", "two", "after an exchange", "in a later window"],
)
def test_calls_at_the_very_end_stay_as_they_are_where_the_target_takes_them(
    messages: list[Any],
) -> None:
    done = chatmend.repair(messages, GPT)
    assert done.messages is messages
    assert done.changes == ()
    assert chatmend.repair(messages, CLAUDE).messages != messages
    with every_rule():  # the rule itself says so, not only what was learnt
        assert chatmend.repair(messages, GPT).messages is messages


@pytest.mark.parametrize(
    ("messages", "ids"),
    [
        ([USER, asks("a"), USER], ["a"]),
        ([USER, asks("a"), SAID], ["a"]),
        ([USER, asks("a", "b"), result("a")], ["a", "b"]),
        ([USER, asks("a"), USER, SAID, USER], ["a"]),
        ([USER, asks("a"), USER, asks("b")], ["a"]),
        ([USER, asks("a", "b"), result("b"), USER], ["a", "b"]),
    ],
    ids=[
        "before a user",
        "before the answer of the model",
        "one of two",
        "in an earlier window",
        "before a pending one",
        "the first of two",
    ],
)
@pytest.mark.parametrize("target", [GPT, CLAUDE])
def test_any_other_call_gets_a_placeholder_next_to_it(
    messages: list[Any], ids: list[str], target: str
) -> None:
    done = chatmend.repair(messages, target)
    sent = done.messages
    assert set(ids) <= set(answered(sent))
    assert "TOOL007" in [change.code for change in done.changes]
    asked = next(at for at, message in enumerate(sent) if message.get("tool_calls"))
    assert [message["role"] for message in sent[asked + 1 : asked + 1 + len(ids)]] == [
        "tool"
    ] * len(ids)
    assert judge("openai_chat", target, sent) == []


def test_the_change_names_the_message_that_the_placeholder_follows() -> None:
    for before in (0, 1, 3):
        messages = [*[USER, SAID] * before, USER, asks("a"), USER]
        (change,) = chatmend.repair(messages, GPT).changes
        assert (change.index, change.code) == (2 * before + 1, "TOOL007")


def test_a_placeholder_goes_before_what_a_user_says_next_to_results() -> None:
    use = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ("a", "b")]
    said = [
        {"type": "tool_result", "tool_use_id": "a", "content": "done"},
        {"type": "text", "text": "hurry"},
    ]
    messages = [USER, {"role": "assistant", "content": use}, {"role": "user", "content": said}]
    done = chatmend.repair(messages, CLAUDE, dialect="anthropic_messages")
    kinds = [block["type"] for message in done.messages[2:] for block in message["content"]]
    assert sorted(kinds) == ["text", "tool_result", "tool_result"]
    assert kinds[-1] == "text"
    assert judge("anthropic_messages", CLAUDE, done.messages) == []
