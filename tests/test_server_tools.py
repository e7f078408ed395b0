"""Hosted tools: a call and its result are in the same turn, or are converted to text."""

from __future__ import annotations

import json
from typing import Any

import pytest

import chatmend
from chatmend import Effect

CLAUDE = "anthropic/claude-sonnet-4-5"
USER = {"role": "user", "content": "a"}
ASKS = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "q"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SAYS = {"type": "text", "text": "b"}
OWN = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def heard(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


@pytest.mark.parametrize(
    "messages",
    [
        [USER, said(ASKS, FOUND, SAYS)],
        [USER, said(ASKS, FOUND, SAYS), USER, said(SAYS), USER],
        [USER, said(SAYS, ASKS)],
        [USER, said(ASKS, OWN), heard(RESULT), said(FOUND, SAYS), USER],
        [USER, said({**ASKS, "type": "mcp_tool_use"}, {**FOUND, "type": "mcp_tool_result"}), USER],
    ],
    ids=[
        "whole",
        "long ago",
        "a call at the very end",
        "code that calls a tool of ours",
        "of an MCP server",
    ],
)
def test_what_is_whole_or_goes_on_stays(messages: list[Any]) -> None:
    assert chatmend.repair(messages, CLAUDE).messages is messages


@pytest.mark.parametrize(
    "target",
    ["anthropic/claude-sonnet-4-6", "anthropic/claude-opus-4-8", "vertex_ai/claude-opus-4-6"],
)
@pytest.mark.parametrize(
    "blocks", [[ASKS], [SAYS, ASKS], [ASKS, FOUND]], ids=["a call", "a text and a call", "a result"]
)
def test_a_paused_turn_goes_back_as_it_came_where_no_prefill_is_taken(
    target: str, blocks: list[Any]
) -> None:
    messages = [USER, said(*blocks)]
    assert chatmend.repair(messages, target).messages is messages


def test_a_text_behind_a_tool_of_the_provider_is_a_prefill_like_any_other() -> None:
    done = chatmend.repair([USER, said(ASKS, FOUND, SAYS)], "anthropic/claude-sonnet-4-6")
    assert done.messages[-1]["role"] == "user"


@pytest.mark.parametrize(
    ("messages", "alone"),
    [
        ([USER, said(FOUND, SAYS), USER], [FOUND]),
        ([USER, said(ASKS), USER, said(FOUND, SAYS), USER], [ASKS, FOUND]),
        ([USER, said(ASKS, FOUND), USER, said(FOUND, SAYS), USER], [FOUND]),
        ([USER, said(ASKS, OWN), heard(RESULT, SAYS), said(FOUND), USER], [ASKS, FOUND]),
        ([USER, said(ASKS, SAYS), USER], [ASKS]),
    ],
    ids=["no call", "a message between", "twice", "a text behind the result", "no result"],
)
def test_what_stands_alone_is_told(messages: list[Any], alone: list[Any]) -> None:
    done = chatmend.repair(messages, CLAUDE)
    blocks = [
        block for m in done.messages if isinstance(m["content"], list) for block in m["content"]
    ]
    texts = [
        json.loads(b["text"])
        for b in blocks
        if b.get("type") == "text" and b["text"].startswith("{")
    ]
    assert texts == alone
    assert {change.effect for change in done.changes} == {Effect.DEGRADES}
    assert chatmend.repair(done.messages, CLAUDE).messages is done.messages
    assert chatmend.replay(messages, done.changes) == done.messages


def test_what_was_sent_stays_sent() -> None:
    messages = [USER, said(ASKS), USER, said(FOUND, SAYS), USER, said(SAYS), USER]
    whole = chatmend.repair(messages, CLAUDE).messages
    for at in (3, 5, 7):
        assert chatmend.repair(messages[:at], CLAUDE).messages == whole[:at]


def test_a_marker_of_an_hour_behind_one_of_five_minutes_lives_for_five() -> None:
    def marked(text: str, ttl: str | None) -> dict[str, Any]:
        return {
            "type": "text",
            "text": text,
            "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})},
        }

    in_order = [heard(marked("a", "1h"), marked("b", "5m"))]
    assert (
        chatmend.repair(
            in_order, CLAUDE, system=[marked("s", "1h")], dialect="anthropic_messages"
        ).messages
        is in_order
    )
    for system, messages in (
        ([marked("s", None)], [heard(marked("a", "1h"))]),
        (None, [heard(marked("a", "5m"), marked("b", "1h"))]),
    ):
        done = chatmend.repair(messages, CLAUDE, system=system, dialect="anthropic_messages")
        assert done.messages[0]["content"][-1]["cache_control"] == {
            "type": "ephemeral",
            "ttl": "5m",
        }
        assert [change.code for change in done.changes] == ["CACHE001"]
        assert (
            chatmend.repair(
                done.messages, CLAUDE, system=system, dialect="anthropic_messages"
            ).messages
            is done.messages
        )


def test_a_refusal_is_what_a_message_says_where_an_empty_one_is_refused() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    sent = chatmend.repair([USER, refused, USER], "anthropic/claude-sonnet-4-6").messages
    assert sent == [USER, {"role": "assistant", "content": "I cannot help with that."}, USER]
    messages = [USER, {**refused, "content": "So."}, USER]
    assert chatmend.repair(messages, "openai/gpt-4o").messages is messages
