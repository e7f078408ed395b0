"""Texts, thinking and calls of an assistant turn in every order, in one message or in several."""

from __future__ import annotations

from itertools import count, product
from typing import Any

import pytest

from tests.promises import broken_promises
from tests.scale import examples

CLAUDE, BEDROCK = (
    "anthropic/claude-sonnet-4-6",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
)
LONGEST = examples(4, 5)
SIGNATURE = "EqQBCkYIAhgCKkAx"


def _block(letter: str, number: int) -> dict[str, Any]:
    if letter == "c":
        return {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {}}
    if letter == "h":
        return {"type": "thinking", "thinking": f"thought {number}", "signature": SIGNATURE}
    return {"type": "text", "text": f"text {number}" if letter == "t" else " "}


def _as_converse(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "tool_use":
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": {}}}
    if block["type"] == "thinking":
        thinking = {"text": block["thinking"], "signature": block["signature"]}
        return {"reasoningContent": {"reasoningText": thinking}}
    return {"text": block["text"]}


def messages_of(word: str, dialect: str) -> list[Any]:
    """Return a conversation with the assistant turn that a word describes, and the results.

    ``t`` is a text, ``b`` a blank text, ``h`` thinking, ``c`` a call and ``|`` the next message.
    """
    is_converse = dialect == "bedrock_converse"
    numbers = count()
    turns = [[_block(letter, next(numbers)) for letter in part] for part in word.split("|")]
    results: list[Any] = [
        {"toolResult": {"toolUseId": block["id"], "content": [{"text": "r"}]}}
        if is_converse
        else {"type": "tool_result", "tool_use_id": block["id"], "content": "r"}
        for turn in turns
        for block in turn
        if block["type"] == "tool_use"
    ]
    if is_converse:
        turns = [[*map(_as_converse, turn)] for turn in turns]
    text = {"text": "go"} if is_converse else {"type": "text", "text": "go"}
    return [
        {"role": "user", "content": [text]},
        *({"role": "assistant", "content": turn} for turn in turns),
        {"role": "user", "content": [*results, text]},
    ]


@pytest.mark.parametrize(
    ("target", "dialect"),
    [(CLAUDE, "anthropic_messages"), (BEDROCK, "bedrock_converse")],
)
def test_every_promise_holds_for_every_order(target: str, dialect: str) -> None:
    words = [word for size in range(1, LONGEST + 1) for word in product("tbhc|", repeat=size)]
    faults = [
        ("".join(word), fault)
        for word in words
        for fault in broken_promises(messages_of("".join(word), dialect), target, dialect)
    ]
    assert faults == []
