"""The automatic cache marker of Claude, which is set on the last block of a request."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend

CLAUDE = "anthropic/claude-sonnet-4-5"
SHORT: dict[str, Any] = {"type": "ephemeral"}
FIVE, HOUR = {**SHORT, "ttl": "5m"}, {**SHORT, "ttl": "1h"}
ASK = {"role": "user", "content": "go"}
ANSWER = {"role": "assistant", "content": "done"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "EqQB" + "A" * 200}


def text(marker: dict[str, Any] | None = None, words: str = "hello") -> dict[str, Any]:
    block = {"type": "text", "text": words}
    return block if marker is None else {**block, "cache_control": marker}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def body(automatic: object, *messages: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "cache_control": automatic, "messages": list(messages)}


@pytest.mark.parametrize(
    "given",
    [
        body(SHORT, user(text(SHORT))),
        body(SHORT, user(text(FIVE))),
        body(FIVE, user(text(SHORT))),
        body(HOUR, user(text(HOUR))),
        # The automatic marker is on a later block.
        body(SHORT, user(text(HOUR)), ANSWER, ASK),
        body(SHORT, user(text(HOUR), text())),
        body(HOUR, user(text(HOUR)), ANSWER, ASK),
        body(SHORT, ASK),
        body(None, user(text(HOUR))),
    ],
)
def test_lifetimes_that_fit_together_stay_unchanged(given: dict[str, Any]) -> None:
    assert chatmend.repair_request(given, CLAUDE).body is given


@pytest.mark.parametrize("automatic", [SHORT, FIVE])
@pytest.mark.parametrize(
    "last",
    [
        user(text(HOUR)),
        user(text(), text(HOUR)),
        user({"type": "tool_result", "tool_use_id": "t", "content": "18", "cache_control": HOUR}),
    ],
)
def test_the_automatic_marker_gets_the_lifetime_of_the_last_block(
    automatic: dict[str, Any], last: dict[str, Any]
) -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    has_result = last["content"][0]["type"] == "tool_result"
    answer = {"role": "assistant", "content": [call if has_result else text()]}
    given = {**body(automatic, ASK, answer, last), "tools": tools}
    done = chatmend.repair_request(given, CLAUDE)
    assert done.body == {**given, "cache_control": HOUR}
    assert done.body["messages"] is given["messages"]
    [change] = done.changes
    assert (change.code, change.where) == ("CACHE001", "cache_control")
    assert chatmend.repair_request(done.body, CLAUDE).body is done.body


def test_a_marker_before_blocks_that_can_have_none_counts() -> None:
    answer = {"role": "assistant", "content": [text(HOUR), THINKING]}
    done = chatmend.repair([ASK, answer], CLAUDE, cache_control=SHORT)
    assert done.cache_control in (SHORT, HOUR)
    assert chatmend.repair(done.messages, CLAUDE, cache_control=done.cache_control).changes == ()


def test_after_a_five_minute_marker_all_markers_are_short() -> None:
    given = body(SHORT, user(text(SHORT)), ANSWER, user(text(HOUR)))
    done = chatmend.repair_request(given, CLAUDE)
    assert done.body["cache_control"] is SHORT
    assert done.body["messages"][-1] == user(text(FIVE))
