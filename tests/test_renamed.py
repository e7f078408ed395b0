"""Where nothing is wrong but ids, they are given without reading the window, just as reading it would give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend.dialects import DIALECTS
from tests.broken import broken
from tests.scale import examples
from tests.targets import OPENAI_CHAT
from tests.test_rules import EverySymptom

CHAT = "openai_chat"
OPENAI, MISTRAL = "openai/gpt-4o", "mistral/open-mistral-7b"
LONG = "functions.look:" + 40 * "0"
USER = {"role": "user", "content": "What now?"}


def call(call_id: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "id": call_id, "function": {"name": "look", "arguments": "{}"}, **more}


def asks(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"content": None, "role": "assistant", "tool_calls": list(calls), **more}


def result(call_id: Any, content: Any = "18", **more: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "role": "tool", "content": content, **more}


class Unread:
    """A dialect whose messages nobody may read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(DIALECTS[CHAT], name)

    def read(self, native: Any) -> Any:
        pytest.fail(f"{native} was read")


def same_as_read(messages: list[Any], target: str) -> chatmend.repair.Repaired:
    """A repair, compared with that of a dialect whose windows have every symptom, and are read therefore."""
    done = chatmend.repair(messages, target, dialect=CHAT)
    spoken: Any = EverySymptom(DIALECTS[CHAT])
    read = chatmend.repair(messages, target, dialect=spoken)
    assert done.changes == read.changes
    assert json.dumps(done.messages) == json.dumps(read.messages)
    return done


def test_refused_ids_are_given_without_reading_anything() -> None:
    other = LONG + "b"
    messages = [USER, asks(call(LONG), call(other)), result(other, "b"), result(LONG, "a"), USER]
    unread: Any = Unread()
    done = chatmend.repair(messages, OPENAI, dialect=unread)
    ids = [made["id"] for made in done.messages[1]["tool_calls"]]
    assert [len(made) <= 40 for made in ids] == [True, True]
    assert [(sent["tool_call_id"], sent["content"]) for sent in done.messages[2:4]] == [(ids[1], "b"), (ids[0], "a")]
    assert done.messages[0] is messages[0]
    assert done.messages[4] is messages[4]
    assert [change.code for change in done.changes] == ["TOOL010"] * 3
    assert chatmend.replay(messages, done.changes) == done.messages


@pytest.mark.parametrize(
    "messages",
    [
        [USER, asks(call(LONG)), result(LONG), USER],
        [USER, asks(call(LONG), call("fine")), result("fine"), result(LONG), USER, asks(call(LONG)), result(LONG)],
        [USER, asks(call(LONG), content="I look."), result(LONG, [{"type": "text", "text": "18"}]), USER],
        [USER, asks(call(LONG), content=[{"type": "text", "text": "I look."}]), result(LONG), USER],
        [USER, asks(call(LONG), content=""), result(LONG), USER],
        [USER, {"role": "assistant", "tool_calls": [call(LONG)]}, result(LONG), USER],
        [USER, asks(call("call_0")), result("call_0"), asks(call("call_0")), result("call_0"), USER],
        [asks(call(LONG)), result(LONG), USER],
        [USER, asks(call(LONG, index=0)), result(LONG), USER],
        [USER, asks(call(LONG)), result(LONG, name="look"), USER],
        [USER, asks(call(LONG), reasoning_content="Hm."), result(LONG), USER],
        [USER, asks(call(LONG), thinking_blocks=[]), result(LONG), USER],
        [USER, asks(call(LONG), thinking_blocks=None, x_id="r1"), result(LONG, x_id="r2"), USER],
        [USER, asks(call(LONG, name="look", extra_content={})), result(LONG), USER],
        [USER, asks(call(LONG)), result(LONG), asks(call(LONG)), USER],
        [USER, asks(call(LONG)), result(LONG, ""), USER],
    ],
)
@pytest.mark.parametrize("target", [OPENAI, MISTRAL, "anthropic/claude-sonnet-4-5", "strict"])
def test_ids_are_given_as_reading_would_give_them(messages: list[Any], target: str) -> None:
    same_as_read(messages, target)


@pytest.mark.parametrize("target", OPENAI_CHAT)
@pytest.mark.parametrize("way", ["ids-illegal-everywhere", "ids-too-long-with-one-beginning", "call-0-everywhere"])
def test_ids_of_whole_conversations_are_given_as_reading_would_give_them(way: str, target: str) -> None:
    for seed in range(examples(4, 60)):
        same_as_read(broken(seed, CHAT, [way]), target)


def test_where_two_rules_give_ids_in_one_window_each_is_told() -> None:
    done = same_as_read([USER, asks(call(LONG), call(LONG)), result(LONG, "a"), result(LONG, "b"), USER], MISTRAL)
    first, second = [made["id"] for made in done.messages[1]["tool_calls"]]
    assert first != second
    assert [(sent["tool_call_id"], sent["content"]) for sent in done.messages[2:4]] == [(first, "a"), (second, "b")]
    assert [change.code for change in done.changes] == ["TOOL011", "TOOL011", "TOOL010", "TOOL010"]
