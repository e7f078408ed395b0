"""``Policy.train()``: transcripts that teach a model keep their end and their thinking; the promises hold as elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chatmend
from chatmend import Effect, Limits, Policy
from chatmend.placeholders import CONTINUED, NO_RESULT
from chatmend.rules import LAST, RULES, offline_order
from tests.broken import broken, digest, expected_tokens
from tests.broken.strategies import transcripts
from tests.scale import examples, seeds
from tests.targets import ALL, OPENAI_CHAT

CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "abcdefgh1", "name": "f", "content": "42"}
ASK = {"role": "user", "content": "What is it?"}
ANSWER = {"role": "assistant", "content": "It is 42. "}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}


@pytest.mark.parametrize("target", OPENAI_CHAT)
@pytest.mark.parametrize(
    "messages",
    [
        [ASK, ANSWER],
        [ASK, {**ANSWER, "reasoning_content": "Six times seven."}],
        [ASK, {**ANSWER, "thinking": "Six times seven."}],
        [ASK, {**ANSWER, "weight": 1}],
    ],
    ids=["answer", "reasoning", "thinking", "weight"],
)
def test_an_answer_at_the_end_stays_the_end_with_its_thinking(
    target: str, messages: list[Any]
) -> None:
    assert chatmend.repair(messages, target, policy="train").messages is messages


@pytest.mark.parametrize(
    "target",
    [t for t in OPENAI_CHAT if chatmend.resolve(t).limits_in("openai_chat").tools_taken],
)
def test_a_call_at_the_end_is_what_the_model_learns(target: str) -> None:
    messages = [ASK, {key: value for key, value in CALLING.items() if key != "content"}]
    done = chatmend.repair(messages, target, policy="train")
    assert len(done.messages) == len(messages)
    assert done.messages[-1]["tool_calls"] is messages[-1]["tool_calls"]


@pytest.mark.parametrize("target", OPENAI_CHAT)
def test_pictures_stay_unless_the_policy_asks_for_them(target: str) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    parts += [{"type": "text", "text": "What is this?"}]
    messages = [{"role": "user", "content": parts}, ANSWER]
    assert chatmend.repair(messages, target, policy="train").messages is messages
    asked = Policy(purpose="train", images="fit")
    assert target == "other" or chatmend.repair(messages, target, policy=asked).changes


def test_the_placeholder_of_a_call_that_the_model_overtook_precedes_the_answer() -> None:
    done = chatmend.repair([ASK, CALLING, ANSWER], "openai/gpt-4o", policy="train")
    assert [message["role"] for message in done.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert done.messages[2]["content"] == NO_RESULT
    assert done.messages[3] is ANSWER


def test_a_late_result_moves_to_its_call() -> None:
    hurry, wait = {"role": "user", "content": "Hurry!"}, {"role": "assistant", "content": "Soon."}
    done = chatmend.repair(
        [ASK, CALLING, hurry, wait, RESULT, ANSWER], "openai/gpt-4o", policy="train"
    )
    assert done.messages == [ASK, CALLING, RESULT, hurry, wait, ANSWER]


def test_a_missing_question_is_added_before_the_answer() -> None:
    said = [{"role": "assistant", "content": "Hello."}]
    for target in ("anthropic/claude-opus-4-8", "hosted_vllm/Qwen/Qwen3.5-32B"):
        done = chatmend.repair(said, target, policy="train")
        assert done.messages == [{"role": "user", "content": CONTINUED}, *said]


def broken_training_promises(messages: list[Any], target: str, dialect: str) -> list[str]:
    """Return the promises that a repair for training breaks."""
    before = digest(messages)
    done = chatmend.repair(messages, target, dialect=dialect, policy="train")
    again = chatmend.repair(
        done.messages, target, dialect=dialect, system=done.system, policy="train"
    )
    dropped = [list(change.before) for change in done.changes if change.effect >= Effect.DROPS]
    kept = expected_tokens([done.messages, done.system]) | expected_tokens(dropped)
    after = digest(chatmend.replay(messages, done.changes))
    return [
        name
        for name, is_kept in {
            "pure": digest(messages) == before,
            "replay": after == digest(done.messages),
            "idempotent": again.messages is done.messages,
            "nothing lost": expected_tokens(messages) <= kept,
            "no synthetic turn after an answer": not _follows_answer(messages, done.messages),
        }.items()
        if not is_kept
    ]


def _follows_answer(messages: list[Any], repaired: list[Any]) -> bool:
    """Return whether the last message is an answer, and the repair ends with a synthetic turn."""
    last = messages[-1] if messages else None
    is_answer = isinstance(last, dict) and last.get("role") == "assistant" and last.get("content")
    end = repaired[-1] if repaired else {}
    return bool(is_answer) and isinstance(end, dict) and end.get("content") == CONTINUED


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_the_promises_hold_for_training(dialect: str, target: str) -> None:
    for seed in seeds(1, 100, ALL.index((dialect, target))):
        found = broken_training_promises(broken(seed, dialect), target, dialect)
        assert not found, (seed, found)


@pytest.mark.parametrize(
    "target", ["hosted_vllm/Qwen/Qwen3.5-32B", "mistral/open-mistral-7b", "strict"]
)
@given(messages=transcripts("openai_chat"))
@settings(max_examples=examples(20, 600), suppress_health_check=list(HealthCheck))
def test_the_promises_hold_for_training_on_drawn_transcripts(
    target: str, messages: list[Any]
) -> None:
    assert not broken_training_promises(messages, target, "openai_chat")


@pytest.mark.parametrize(
    "policy", [Policy.train(), Policy.offline(), Policy(late_results="move", system="hoist")]
)
@given(data=st.data())
@settings(max_examples=examples(30, 600), suppress_health_check=list(HealthCheck))
def test_the_fast_path_of_stored_transcripts_changes_no_result(
    policy: Policy, data: st.DataObject
) -> None:
    dialect, target = data.draw(st.sampled_from(ALL))
    messages = data.draw(transcripts(dialect))
    fast = chatmend.repair(messages, target, dialect=dialect, policy=policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline_order, "moves_only_results", lambda *_: False)
        full = chatmend.repair(messages, target, dialect=dialect, policy=policy)
    assert digest(fast.messages) == digest(full.messages)
    assert [change.code for change in fast.changes] == [change.code for change in full.changes]


def test_training_lifts_every_limit_that_a_rule_about_files_declares() -> None:
    kinds = ("DOC", "FILE", "IMG", "MEDIA")
    declared = {
        name for rule in (*RULES, *LAST) if rule.code.startswith(kinds) for name in rule.own_limits
    }
    own = tuple((name, None) for name in sorted(declared))
    assert Policy.train().apply(Limits(own=own)).own == ()


def test_serving_is_the_default_and_keeps_its_repairs() -> None:
    messages = [ASK, ANSWER]
    done = chatmend.repair(messages, "mistral/mistral-large-latest", policy=Policy(purpose="serve"))
    assert done.messages[-1] == {"role": "user", "content": CONTINUED}
