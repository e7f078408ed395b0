"""The promises, on broken transcripts by seed and on those that Hypothesis draws, for every target."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chatmend
from chatmend.context import Context
from chatmend.dialects import DIALECTS
from chatmend.letters import cut
from chatmend.rules import RULES
from chatmend.scan import Scan
from chatmend.windows import Memory
from tests.broken import all_mutations, broken, torn
from tests.broken.strategies import transcripts
from tests.promises import broken_promises
from tests.scale import examples, sampled, seeds
from tests.targets import ALL


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_nothing_is_lost_moved_or_unexplained_whatever_is_broken(dialect: str, target: str) -> None:
    for seed in seeds(1, 200, ALL.index((dialect, target))):
        messages = broken(seed, dialect)
        found = list(broken_promises(messages, target, dialect, judged=False))
        assert not found, (seed, found)


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_the_promises_hold_on_what_chance_has_torn(dialect: str, target: str) -> None:
    if target == "other":
        pytest.skip("it changes nothing and promises nothing")
    for seed in seeds(1, 200, ALL.index((dialect, target))):
        messages = torn(seed, dialect)
        found = list(broken_promises(messages, target, dialect, torn=True))
        assert not found, (seed, found)


ODD: tuple[tuple[str, str, list[object]], ...] = (
    ("openai_responses", "openai/gpt-5", [{"type": [], "id": "msg_0001", "role": "assistant"}]),
    ("openai_responses", "openai/gpt-5", [{"type": "function_call", "function_call": 10**400}]),
    (
        "gemini_contents",
        "gemini/gemini-2.5-flash",
        [
            {
                "parts": [
                    {
                        "functionResponse": {
                            "parts": [{"inlineData": {"mimeType": "image/png"}, "functionCall": {}}]
                        }
                    }
                ]
            }
        ],
    ),
    (
        "anthropic_messages",
        "anthropic/claude-sonnet-4-6",
        [
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": " "}, {"type": "tool_result"}],
            },
            {"role": "assistant", "content": [{"type": "tool_use"}]},
        ],
    ),
)


@pytest.mark.parametrize(("dialect", "target", "messages"), ODD)
def test_the_promises_hold_on_messages_that_contradict_themselves(
    dialect: str, target: str, messages: list[object]
) -> None:
    assert not list(broken_promises(messages, target, dialect))


POLICIES = {
    "drop": chatmend.Policy.drop_instead_of_note(),
    "insert": chatmend.Policy(turns="insert"),
    "alternate": chatmend.Policy(turns="insert", alternation="always"),
}
CHOICES = [(dialect, target, name) for dialect, target in ALL for name in POLICIES]


@pytest.mark.parametrize(("dialect", "target", "name"), sampled(CHOICES, CHOICES[::8]))
def test_choices_move_nothing_either_not_even_where_the_front_is_cut_off(
    dialect: str, target: str, name: str
) -> None:
    policy = POLICIES[name]
    for seed in seeds(1, 40, CHOICES.index((dialect, target, name))):
        messages = broken(seed, dialect)[seed % 5 :]
        found = list(broken_promises(messages, target, dialect, judged=False, policy=policy))
        assert not found, (seed, found)


@pytest.mark.parametrize(("dialect", "target"), ALL)
def test_a_window_begins_where_the_model_speaks_again(dialect: str, target: str) -> None:
    spoken = DIALECTS[dialect]
    limits = chatmend.resolve(target).limits_in(dialect)
    for seed in seeds(1, 400, ALL.index((dialect, target))):
        messages = broken(seed, dialect)
        words = cut(Scan(Context(limits, spoken), RULES, Memory()).read(messages))
        speaks = [spoken.read(message).is_assistant for message in messages]
        begins = [at for at in range(1, len(speaks)) if speaks[at] and not speaks[at - 1]]
        assert list(accumulate(map(len, words), initial=0)) == [0, *begins, len(messages)], seed


@pytest.mark.parametrize(
    ("dialect", "target"),
    [("openai_responses", "openai/gpt-5"), ("gemini_contents", "gemini/gemini-3")],
)
@given(data=st.data())
@settings(max_examples=examples(12, 600), suppress_health_check=list(HealthCheck))
def test_the_promises_hold_on_drawn_items_and_contents(
    dialect: str, target: str, data: st.DataObject
) -> None:
    messages = data.draw(transcripts(dialect))
    assert not list(broken_promises(messages, target, dialect, judged=False))


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "mistral/open-mistral-7b", "strict"]
)
@given(messages=transcripts("openai_chat"))
@settings(max_examples=examples(12, 600), suppress_health_check=list(HealthCheck))
def test_the_promises_hold_on_drawn_transcripts(target: str, messages: list[object]) -> None:
    assert not list(broken_promises(messages, target, "openai_chat", judged=False))


CHAT_TARGETS = [
    "openai/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "mistral/open-mistral-7b",
    "strict",
]


@pytest.mark.parametrize(
    ("dialect", "target"),
    [
        *(("openai_chat", target) for target in CHAT_TARGETS),
        ("anthropic_messages", "anthropic/claude-sonnet-4-5"),
        ("openai_responses", "openai/gpt-5"),
        ("gemini_contents", "gemini/gemini-3-pro-preview"),
    ],
)
def test_code_that_is_not_ours_accepts_what_was_broken_in_one_way(
    dialect: str, target: str
) -> None:
    refused, every = {}, all_mutations(dialect)
    if dialect == "openai_chat":  # five targets: each mutation is tried on one
        at = CHAT_TARGETS.index(target)
        every = sampled(every, every[at::5])
    for name in every:
        found = list(broken_promises(broken(1, dialect, [name]), target, dialect))
        refused |= {name: found} if found else {}
    assert not refused
