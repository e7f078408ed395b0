"""The generator keeps its word: valid means valid, broken means changed, and a seed means one transcript."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scale import examples

from . import (
    MUTATIONS,
    WIRES,
    Dialect,
    broken,
    broken_request,
    conversation,
    copied,
    digest,
    expected_images,
    expected_tokens,
    mutate,
    mutation_names,
    same,
    valid,
)
from .mutations import DEFECTS
from .nested import strings
from .sites import calls, exchanges, id_key, plant, results, thoughts
from .strategies import transcripts, valid_conversations
from .tokens import TOKEN
from .translated import DERIVED

DIALECTS = tuple(WIRES)
both = pytest.mark.parametrize("dialect", DIALECTS)

RUBBISH: list[Any] = [
    None,
    3,
    "text",
    [],
    {},
    {"role": ["user"]},
    {"role": "assistant", "content": 4, "tool_calls": [None, {}, {"id": {}}]},
    {"role": "tool", "tool_call_id": []},
    {"role": "user", "content": [1, None, {"type": []}, {"type": "tool_result"}]},
    {
        "role": "assistant",
        "tool_calls": {"id": 1},
        "thinking_blocks": "x",
        "content": [{"type": "tool_use", "name": 7}],
    },
]


def assert_consistent(messages: list[Any]) -> None:
    """Every call is answered, in order, before anyone else speaks; the assistant neither begins nor ends."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert roles[0] == "user"
    assert roles[-1] in {"user", "tool"}
    assert "assistant" not in {one for one, other in pairwise(roles) if one == other}
    pairs = exchanges(messages)
    assert [call.native for call, _ in pairs] == [site.native for site in calls(messages)]
    assert [result.native for _, result in pairs] == [site.native for site in results(messages)]
    assert len({call.native["id"] for call, _ in pairs}) == len(pairs)
    for call, result in pairs:
        between = messages[call.index + 1 : result.index]
        assert all(message["role"] == "tool" for message in between), (
            "someone speaks between a call and its result"
        )


def empty_everything(messages: list[Any]) -> None:
    """Clear every list and dict, as the worst of callers might."""
    todo: list[Any] = [messages]
    while todo:
        item = todo.pop()
        if isinstance(item, dict | list):
            todo.extend(item.values() if isinstance(item, dict) else item)
            item.clear()


@both
def test_a_valid_conversation_is_consistent(dialect: Dialect) -> None:
    for seed in range(examples(150, 2_000)):
        messages = valid(seed, dialect)
        assert 3 <= len(messages) <= 60
        assert_consistent(messages)


@both
def test_users_and_assistants_alternate_where_results_are_part_of_a_user_message(
    dialect: Dialect,
) -> None:
    for seed in range(200):
        roles = [
            message["role"]
            for message in valid(seed, dialect)
            if message["role"] not in {"system", "tool"}
        ]
        if dialect == "anthropic_messages":
            assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)


@both
def test_no_two_texts_of_a_valid_conversation_share_a_token(dialect: Dialect) -> None:
    for seed in range(200):
        messages = valid(seed, dialect)
        for message in messages:
            message.pop("reasoning_content", None)  # says again what the thinking blocks say
        found = Counter(token for text in strings(messages) for token in TOKEN.findall(text))
        assert set(found.values()) == {1}


@both
def test_the_valid_conversations_have_every_shape(dialect: Dialect) -> None:
    made = [conversation(seed, dialect) for seed in range(200)]
    sizes = {len(one.messages) for one in made}
    assert min(sizes) <= 4
    assert max(sizes) >= 40
    assert any(thoughts(one.messages) for one in made)
    assert any(expected_images(one.messages) for one in made)
    per_message = [Counter(site.index for site in calls(one.messages)) for one in made]
    assert {number for counted in per_message for number in counted.values()} == {1, 2, 3, 4}


def test_without_extras_no_framework_key_is_left() -> None:
    for seed in range(100):
        known = {"role", "content", "tool_calls", "tool_call_id"}
        assert all(set(message) <= known for message in valid(seed, "openai_chat", extras=False))


@both
def test_the_same_seed_gives_the_same_transcript(dialect: Dialect) -> None:
    assert same(broken(7, dialect), broken(7, dialect))
    assert len({digest(broken(seed, dialect)) for seed in range(100)}) == 100


def test_every_process_makes_the_same_transcripts() -> None:
    package = str(__package__)
    root = Path(__file__).resolve().parents[package.count(".") + 1]
    script = (
        f"import sys; sys.path.insert(0, {str(root)!r}); import importlib; b = importlib.import_module({package!r});"
        "print(b.digest([[b.broken(s, d), b.broken_request(s, d)] for s in range(25) for d in b.WIRES]))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "4242")
    }
    assert len(printed) == 1
    assert len(printed.pop().strip()) == 64


@both
def test_three_hundred_seeds_apply_every_mutation(dialect: Dialect) -> None:
    made_from_it = [name for name, derivation in DERIVED.items() if derivation.source == dialect]
    applied = {
        name
        for place in (dialect, *made_from_it)
        for seed in range(300)
        for name in mutation_names(seed, place)
        if not name.startswith("own:")
    }
    assert applied == set(MUTATIONS[dialect])


@both
def test_a_mutation_breaks_what_is_there(dialect: Dialect) -> None:
    for seed, name in product(range(examples(2, 5)), MUTATIONS[dialect]):
        messages = valid(seed, dialect, extras=True)
        plant(messages, Random(seed), WIRES[dialect])
        before = copied(messages)
        DEFECTS[name][1](messages, Random(seed), WIRES[dialect])
        assert not same(messages, before), (name, seed)


@both
def test_a_mutation_changes_every_transcript_and_never_its_input(dialect: Dialect) -> None:
    inputs = [
        [],
        copied(RUBBISH),
        *(broken(seed, dialect) for seed in range(examples(2, 5))),
    ]
    for messages, name in product(inputs, MUTATIONS[dialect]):
        before = copied(messages)
        after = mutate(messages, name, 1, dialect)
        assert not same(after, before), name
        assert same(messages, before), f"{name} has changed its input"


@both
def test_what_a_mutation_returns_shares_nothing_with_its_input(dialect: Dialect) -> None:
    messages = valid(3, dialect)
    before = digest(messages)
    for seed, name in product(range(examples(1, 4)), MUTATIONS[dialect]):
        after = mutate(messages, name, seed, dialect)
        expected = digest(after)
        empty_everything(after)
        assert digest(messages) == before, name
        again = digest(mutate(messages, name, seed, dialect))
        assert again == expected, f"{name}: a table of the generator was handed out"


@both
def test_all_mutations_at_once_can_be_applied_in_any_order(dialect: Dialect) -> None:
    for seed in range(examples(4, 40)):
        names = Random(seed).sample(list(MUTATIONS[dialect]), len(MUTATIONS[dialect]))
        assert broken(seed, dialect, names)


@both
def test_a_request_has_its_messages_and_sometimes_system_and_tools(dialect: Dialect) -> None:
    made = [broken_request(seed, dialect) for seed in range(60)]
    for seed, request in enumerate(made):
        assert same(request["messages"], broken(seed, dialect))
    assert {"tools" in request for request in made} == {True, False}
    assert {"system" in request for request in made} == (
        {True, False} if dialect == "anthropic_messages" else {False}
    )


def test_tokens_are_found_in_keys_and_at_any_depth() -> None:
    value: Any = {"tok00001x": "a tok00002x b tok0000000003x"}
    for _ in range(50_000):
        value = [{"deep": value}]
    assert expected_tokens(value) == {"tok00001x", "tok00002x", "tok0000000003x"}


def test_no_two_mutations_invent_the_same_token() -> None:
    messages = valid(0, "openai_chat")
    one = expected_tokens(
        mutate(messages, "consecutive-users", 0, "openai_chat")
    ) - expected_tokens(messages)
    other = expected_tokens(
        mutate(messages, "leading-assistant", 0, "openai_chat")
    ) - expected_tokens(messages)
    assert one
    assert other
    assert not one & other


def test_a_renamed_exchange_still_belongs_together() -> None:
    for name in (
        "id-too-long",
        "ids-illegal-everywhere",
        "ids-of-one-stem",
        "id-with-illegal-characters",
    ):
        for dialect in DIALECTS:
            messages = mutate(valid(5, dialect), name, 0, dialect)
            answered = [result.native[id_key(result.native)] for _, result in exchanges(messages)]
            assert answered == [site.native["id"] for site in calls(messages)]


@settings(max_examples=examples(30, 500), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), dialect=st.sampled_from(DIALECTS))
def test_hypothesis_draws_valid_conversations(data: st.DataObject, dialect: Dialect) -> None:
    assert_consistent(data.draw(valid_conversations(dialect)).messages)


@settings(max_examples=examples(30, 500), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), dialect=st.sampled_from(DIALECTS))
def test_hypothesis_draws_transcripts_that_can_be_printed(
    data: st.DataObject, dialect: Dialect
) -> None:
    assert repr(data.draw(transcripts(dialect)))
