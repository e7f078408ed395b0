"""Windows of a known structure are passed without running a rule or reading a message."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import chatmend
from chatmend import engine, scan
from chatmend.changes import Fix
from chatmend.dialects import openai_chat
from chatmend.rules import RULES
from tests.every_rule import forget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmend.rules import Rule

CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-4o"
QUESTION, ANSWER = {"role": "user", "content": "go"}, {"role": "assistant", "content": "Yes."}


def exchange(*names: str, first: int = 0) -> list[Any]:
    """Return an assistant message that calls each of the tools, and the results."""
    ids = [f"call_{first + at}" for at in range(len(names))]
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for call_id, name in zip(ids, names, strict=True)
    ]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    return [asked, *({"role": "tool", "tool_call_id": one, "content": "18"} for one in ids)]


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count the windows that are looked up, those that are sketched, and the messages that are read."""
    counts = dict.fromkeys(("looked up", "sketched", "read"), 0)

    def counting(name: str, function: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            counts[name] += 1
            return function(*args, **more)

        return call

    with (
        patch.object(scan.Scan, "find_clean", counting("looked up", scan.Scan.find_clean)),
        patch.object(scan.Scan, "next_window", counting("sketched", scan.Scan.next_window)),
        patch.object(openai_chat, "read", counting("read", openai_chat.read)),
    ):
        yield counts


def learn(*transcripts: list[Any], target: str = GPT) -> None:
    """Repair clean transcripts often enough that their structures are known."""
    forget()
    for _ in range(3):
        for messages in transcripts:
            assert chatmend.repair(messages, target, dialect="openai_chat").messages is messages


@pytest.mark.parametrize(
    ("window", "other"),
    [
        pytest.param([ANSWER], [{**ANSWER, "content": "No."}], id="an answer"),
        pytest.param(exchange("f"), exchange("g", first=7), id="a call"),
        pytest.param(exchange("f", "g"), exchange("g", "h", first=7), id="two tools"),
        pytest.param(exchange("f", "f"), exchange("g", "g", first=7), id="one tool, two calls"),
        pytest.param(exchange(*"abcdefgh"), exchange(*"hgfedcba", first=20), id="16 ids"),
    ],
)
def test_a_known_window_is_passed_unread_with_other_ids_and_names(
    window: list[Any], other: list[Any]
) -> None:
    learn([QUESTION, *window, QUESTION, ANSWER, QUESTION])
    # A transcript that is new, of windows that are known.
    messages = [QUESTION, *window, QUESTION, *other, QUESTION, ANSWER, QUESTION]
    with counted() as counts:
        done = chatmend.repair(messages, GPT, dialect="openai_chat")
    assert done.messages is messages
    assert counts.pop("looked up") > 1
    assert counts == {"sketched": 0, "read": 0}


@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "f"}}]])
def test_a_known_transcript_is_passed_as_a_whole(tools: Any) -> None:
    """With tools, the transcript is found after its format is known, else before that."""
    messages = [QUESTION, ANSWER, QUESTION, *exchange("f"), QUESTION]
    learn(messages)
    with counted() as counts:
        done = chatmend.repair([*messages], GPT, tools=tools, dialect="openai_chat")
    assert done.changes == ()
    assert counts == {"looked up": 0, "sketched": 0, "read": 0}


def counting_rules(runs: list[str]) -> tuple[Rule, ...]:
    """Return the rules, each of which adds its code to ``runs`` when it runs."""

    def counting(rule: Rule) -> Rule:
        def find(*args: Any) -> Any:
            runs.append(rule.code)
            return rule.find(*args)

        return replace(rule, find=find)

    return tuple(map(counting, RULES))


def test_rules_run_once_on_a_clean_window_that_occurs_again() -> None:
    runs: list[str] = []
    rules = counting_rules(runs)
    forget()
    with patch.object(engine, "rules_for", lambda *_: rules):
        first = [QUESTION, *exchange("f"), QUESTION]
        chatmend.repair(first, GPT, dialect="openai_chat")
        assert {"TOOL006", "TOOL007", "TOOL010"} <= set(runs)
        runs.clear()
        for at in range(4):
            again = [QUESTION, *exchange("g", first=at), QUESTION]
            assert chatmend.repair(again, GPT, dialect="openai_chat").messages is again
    assert runs == []


def test_only_the_rule_that_is_needed_runs_when_a_broken_window_occurs_again() -> None:
    runs: list[str] = []
    rules = counting_rules(runs)
    broken = exchange("f")[:1]
    forget()
    with patch.object(engine, "rules_for", lambda *_: rules):
        for _ in range(5):  # learns the broken window, and then the repaired one
            runs.clear()
            done = chatmend.repair([QUESTION, *broken, QUESTION], GPT, dialect="openai_chat")
            assert [change.code for change in done.changes] == ["TOOL007"]
    assert set(runs) == {"TOOL007"}


def test_of_two_fixes_of_one_message_only_the_first_is_applied() -> None:
    """Both would repeat the content of the message."""
    first, second = ({"role": "user", "content": text} for text in ("first", "second"))

    def find(*_: object) -> Iterator[Fix]:
        yield Fix(0, 2, (openai_chat.read(first),), "a reason")
        yield Fix(1, 2, (openai_chat.read(second),), "a reason")

    forget()
    rule = replace(RULES[0], find=find, judges=None)
    messages = [QUESTION, ANSWER, QUESTION]
    with patch.object(engine, "rules_for", lambda *_: (rule,)):
        done = chatmend.repair(messages[1:], GPT, dialect="openai_chat")
    assert done.messages == [first]
    assert chatmend.replay(messages[1:], done.changes) == [first]


def test_a_finding_about_a_message_that_a_fix_replaced_is_kept() -> None:
    text = {"role": "user", "content": "first"}

    def find(*_: object) -> Iterator[Fix]:
        yield Fix(0, 1, (openai_chat.read(text),), "a reason")
        yield Fix(0, 1, (openai_chat.read(text),), "a finding", finding=True)

    forget()
    rule = replace(RULES[0], find=find, judges=None)
    with patch.object(engine, "rules_for", lambda *_: (rule,)):
        done = chatmend.repair([QUESTION], GPT, dialect="openai_chat")
    assert [(change.why, change.applied) for change in done.changes] == [
        ("a reason", True),
        ("a finding", False),
    ]
