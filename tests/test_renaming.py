"""Windows in which only ids are refused are renamed without reading them, exactly as the rule does it."""

from __future__ import annotations

from typing import Any

import pytest

import chatmend
from chatmend import rule_cache
from tests.equivalence import refused_ids
from tests.every_rule import account, every_rule, forget
from tests.scale import examples, sampled, seeds
from tests.targets import ALL

MISTRAL, CLAUDE, GPT = "mistral/open-mistral-7b", "anthropic/claude-sonnet-4-5", "openai/gpt-4o"


def exchange(call_id: str, result_id: str | None = None) -> list[Any]:
    function = {"name": "f", "arguments": "{}"}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": result_id or call_id, "content": "18"},
        {"role": "assistant", "content": "It is 18."},
    ]  # fmt: skip


def learnt() -> list[Any]:
    """Return how windows are renamed, as far as it is known."""
    caches = rule_cache._CACHES.values()
    return [one for cache in caches for one in cache.renamings.values() if one is not None]


@pytest.mark.parametrize(("dialect", "target"), sampled(ALL, ALL[::6]))
def test_refused_ids_are_renamed_as_by_every_rule(dialect: str, target: str) -> None:
    forget()
    every = [refused_ids(seed, dialect) for seed in seeds(6, 200, ALL.index((dialect, target)))]
    for _ in range(2):  # learnt, then repeated
        for messages in every:
            chatmend.repair(messages, target, dialect=dialect)
    for messages in every:
        done = chatmend.repair(messages, target, dialect=dialect)
        with every_rule():
            expected = chatmend.repair(messages, target, dialect=dialect)
        assert account(done) == account(expected)
        assert chatmend.replay(messages, done.changes) == done.messages


@pytest.mark.parametrize("target", [MISTRAL, CLAUDE, GPT])
def test_the_second_window_of_a_structure_repeats_the_first(target: str) -> None:
    forget()
    messages = [m for number in range(6) for m in exchange(f"call.{number}" + "x" * 60)]
    original = str(messages)
    done = chatmend.repair(messages, target)
    assert learnt()
    with every_rule():
        assert account(done) == account(chatmend.repair(messages, target))
    assert str(messages) == original
    ids = [m["tool_calls"][0]["id"] for m in done.messages if m.get("tool_calls")]
    assert len(set(ids)) == 6
    assert [m["tool_call_id"] for m in done.messages if m["role"] == "tool"] == ids
    assert chatmend.check(done.messages, target) == ()


def test_a_prefix_is_renamed_in_the_same_way() -> None:
    messages = [m for number in range(examples(5, 20)) for m in exchange(f"call.{number % 3}")]
    forget()
    whole = chatmend.repair(messages, MISTRAL).messages
    for stop in range(3, len(messages), 4):
        assert chatmend.repair(messages[:stop], MISTRAL).messages == whole[:stop]


def test_calls_with_the_same_id_are_left_to_the_rule() -> None:
    call = exchange("call.1")[1]["tool_calls"][0]
    messages = []
    for _ in range(4):
        turn = exchange("call.1")
        turn[1]["tool_calls"] = [call, dict(call)]
        messages += [*turn[:3], dict(turn[2]), turn[3]]
    forget()
    done = [chatmend.repair(messages, MISTRAL) for _ in range(3)]
    with every_rule():
        expected = account(chatmend.repair(messages, MISTRAL))
    assert [account(one) for one in done] == [expected] * 3
    assert not learnt()
