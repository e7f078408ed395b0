"""Compactions without a summary: Claude sends and accepts null, and refuses an empty text."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import Effect

TARGETS = ["anthropic/claude-opus-4-6", "bedrock/invoke/us.anthropic.claude-opus-4-6"]
USER, NEXT = {"role": "user", "content": "q"}, {"role": "user", "content": "on"}
TEXT = {"type": "text", "text": "a"}


def conversation(*blocks: dict[str, Any]) -> list[Any]:
    return [USER, {"role": "assistant", "content": list(blocks)}, NEXT]


def compaction(content: str | None) -> dict[str, Any]:
    return {"type": "compaction", "content": content}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("content", ["A summary.", None])
@pytest.mark.parametrize("others", [(), (TEXT,)])
def test_a_summary_or_null_is_unchanged(target: str, content: str | None, others: Any) -> None:
    messages = conversation(compaction(content), *others)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize("target", TARGETS)
def test_an_empty_one_is_removed(target: str) -> None:
    assert chatmend.repair(conversation(compaction("s"), TEXT), target).changes == ()
    done = chatmend.repair(conversation(compaction(""), TEXT), target)
    assert done.messages == conversation(TEXT)
    assert [(one.code, one.effect) for one in done.changes] == [("TEXT004", Effect.RESHAPES)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_message_with_nothing_else_keeps_its_turn(target: str) -> None:
    done = chatmend.repair(conversation(compaction("")), target)
    assert done.messages[1]["content"] == "[continued]"
    assert [(one.code, one.effect) for one in done.changes] == [("TEXT004", Effect.ADDS)]


@pytest.mark.parametrize("target", [*TARGETS, "anthropic/claude-opus-5", "vertex_ai/claude-opus-5"])
@pytest.mark.parametrize("others", [(), (TEXT,)])
def test_claude_goes_on_after_a_compaction_at_the_end(target: str, others: Any) -> None:
    """platform.claude.com, compaction: pausing after compaction."""
    messages = conversation(*others, compaction("A summary."))[:-1]
    assert chatmend.repair(messages, target).messages is messages


def test_an_answer_after_a_compaction_is_no_end() -> None:
    messages = conversation(compaction("A summary."), TEXT)[:-1]
    done = chatmend.repair(messages, "anthropic/claude-opus-5")
    assert [change.code for change in done.changes] == ["TURN005"]
