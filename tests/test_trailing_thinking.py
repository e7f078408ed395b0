"""Thinking at the end of a turn, also where a converter does not send the white space behind it."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from tests.judges import judge

USER, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "on"}
CLAUDE, BEDROCK = "anthropic/claude-sonnet-4-5", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
THOUGHT, SECOND, CONTINUED = "c2lnbmVk", "bGFzdA==", "[continued]"


def part(text: str) -> dict[str, Any]:
    if text in (THOUGHT, SECOND):
        return {"type": "thinking", "thinking": "hm", "signature": text}
    return {"type": "text", "text": text}


def conversation(*texts: str) -> list[Any]:
    return [USER, {"role": "assistant", "content": list(map(part, texts))}, NEXT]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ((THOUGHT, " "), (THOUGHT, " ", CONTINUED)),
        (("a", THOUGHT, " \n"), ("a", THOUGHT, " \n", CONTINUED)),
        ((THOUGHT, " ", "\n"), (THOUGHT, " ", "\n", CONTINUED)),
        ((THOUGHT, " ", SECOND, "a"), (THOUGHT, " ", CONTINUED, SECOND, "a")),
    ],
)
@pytest.mark.parametrize("target", [CLAUDE, BEDROCK, "vertex_ai/claude-sonnet-4-5"])
def test_white_space_behind_thinking_in_a_chat_does_not_count(
    target: str, given: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    """LiteLLM does not send it; the turn then ended with thinking."""
    done = chatmend.repair(conversation(*given), target, dialect="openai_chat")
    assert done.messages == conversation(*sent)
    assert [change.code for change in done.changes] == ["THINK004"]
    assert judge("openai_chat", target, done.messages) == []
    again = chatmend.repair(done.messages, target, dialect="openai_chat")
    assert again.messages is done.messages


@pytest.mark.parametrize("texts", [(THOUGHT, " ", "a"), (THOUGHT, "a", " "), (" ", "a")])
def test_white_space_beside_a_text_stays(texts: tuple[str, ...]) -> None:
    messages = conversation(*texts)
    assert chatmend.repair(messages, CLAUDE, dialect="openai_chat").messages is messages


def test_the_messages_api_gets_white_space_as_it_is() -> None:
    messages = conversation("a", THOUGHT, " \n")
    assert chatmend.repair(messages, CLAUDE, dialect="anthropic_messages").messages is messages
