"""Sums of accounts, and what comes back from where an account was written to."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmend import Usage, normalize_usage
from chatmend.usage.sums import _COUNTS, add, total

COUNT = st.none() | st.integers(0, 10**9)
WORD = st.none() | st.sampled_from(["a", "b"])
MONEY = st.decimals(0, 10**6, places=9)
GROUP = st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 99) | MONEY, max_size=2)
TEXTS = st.lists(st.sampled_from(["one: 1", "one: 2", "two: 1", "three"]), max_size=3, unique=True)


def accounts(*, parts: bool = True) -> st.SearchStrategy[Usage]:
    inner = st.lists(accounts(parts=False), max_size=2).map(_by_kind) if parts else st.just(())
    return st.builds(
        Usage,
        **dict.fromkeys(_COUNTS, COUNT),
        **dict.fromkeys(("cost_source", "service_tier", "provider", "model", "kind"), WORD),
        cost=st.none() | MONEY,
        cost_currency=st.sampled_from([None, "USD", "EUR"]),
        complete=st.booleans(),
        details=GROUP,
        billed=GROUP,
        cost_details=st.dictionaries(st.sampled_from(["x", "y"]), MONEY, max_size=2),
        parts=inner,
        sources=st.dictionaries(
            st.sampled_from(["input_tokens", "cost"]), st.sampled_from(["p", "q"]), max_size=2
        ),
        unread=st.lists(st.sampled_from(["m", "n"]), unique=True).map(tuple),
        warnings=TEXTS.map(sorted).map(tuple),
    )


def _by_kind(parts: list[Usage]) -> tuple[Usage, ...]:
    return tuple({(part.kind, part.model): part for part in parts}.values())


def test_nothing_added_to_an_account_is_the_account() -> None:
    usage = normalize_usage({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9})
    assert usage + Usage() == Usage() + usage == usage


@given(accounts(), st.lists(st.integers(0, 99), max_size=4), st.lists(accounts(), max_size=2))
def test_all_at_once_is_one_after_the_other(
    one: Usage, counts: list[int], others: list[Usage]
) -> None:
    alike = [replace(one, input_tokens=count) for count in counts]
    for usages in ([one, *alike], [one, *others], [one, *alike, *others]):
        assert total(usages) == reduce(add, usages)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5))
def test_calls_of_one_kind_are_summed_exactly(counts: list[int]) -> None:
    usages = [
        normalize_usage(
            {"prompt_tokens": count, "completion_tokens": 1, "total_tokens": count + 1, "cost": 0.1}
        )
        for count in counts
    ]
    assert total(usages) == reduce(add, usages)


@given(accounts(), accounts(), accounts())
def test_the_order_of_addition_does_not_matter(one: Usage, two: Usage, three: Usage) -> None:
    assert (one + two) + three == one + (two + three)


@given(st.lists(accounts(), min_size=1, max_size=5))
def test_a_sum_holds_every_token_and_every_unit(usages: list[Usage]) -> None:
    total = sum(usages, Usage())
    for name in _COUNTS:
        told = [value for usage in usages if (value := getattr(usage, name)) is not None]
        assert getattr(total, name) == (sum(told) if told else None)
    for name in ("x", "y"):
        assert total.billed.get(name, 0) == sum(usage.billed.get(name, 0) for usage in usages)


@given(accounts())
def test_an_account_comes_back_from_json(usage: Usage) -> None:
    assert Usage.from_dict(json.loads(json.dumps(usage.to_dict()))) == usage


@given(accounts())
def test_an_account_comes_back_from_copies_and_pickles(usage: Usage) -> None:
    assert deepcopy(usage) == pickle.loads(pickle.dumps(usage)) == replace(usage) == usage  # noqa: S301 - our own bytes


def test_an_account_read_from_a_payload_is_like_one_that_was_built() -> None:
    read = normalize_usage({"prompt_tokens": 3})
    built = Usage(**{f.name: getattr(read, f.name) for f in fields(Usage)})
    assert (read, hash(read), repr(read)) == (built, hash(built), repr(built))
    assert pickle.loads(pickle.dumps(read)) == read  # noqa: S301 - our own bytes
    with pytest.raises(FrozenInstanceError):
        read.input_tokens = 4  # type: ignore[misc]


def test_python_can_sum() -> None:
    usages = [normalize_usage({"prompt_tokens": n, "completion_tokens": 1}) for n in (1, 2, 3)]
    assert (sum(usages).input_tokens, sum(usages).output_tokens) == (6, 3)  # type: ignore[union-attr]


def test_an_account_and_something_else_do_not_add() -> None:
    with pytest.raises(TypeError):
        Usage() + 3  # type: ignore[operator]


def test_money_does_not_drift_and_currencies_do_not_mix() -> None:
    cents = [Usage(cost=Decimal("0.1"), cost_currency="USD")] * 10
    assert sum(cents, Usage()).cost == 1
    mixed = cents[0] + Usage(cost=Decimal("0.1"), cost_currency="EUR") + cents[0]
    assert (mixed.cost, mixed.cost_currency) == (None, "several")


def test_a_thousand_warnings_are_one_line() -> None:
    usages = [
        normalize_usage({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": n})
        for n in range(3, 1003)
    ]
    assert sum(usages, Usage()).warnings == ("total-differs",)


@pytest.mark.parametrize(
    ("read", "given_", "ratio"),
    [(None, 5, None), (1, None, None), (0, 0, None), (1, 4, 0.25), (9, 4, 1.0)],
)
def test_the_cache_hit_ratio_is_known_where_both_counts_are(
    read: int, given_: int, ratio: float
) -> None:
    assert Usage(input_tokens=given_, cache_read_tokens=read).cache_hit_ratio == ratio


def told(**more: Any) -> st.SearchStrategy[Usage]:
    """Accounts that hold together: parts inside their wholes, lifetimes that add up."""
    small = st.integers(0, 1000)

    @st.composite
    def build(draw: st.DrawFn) -> Usage:
        read, short, long, fresh, reasoning, text = (draw(small) for _ in range(6))
        given_, written = read + short + long + fresh, reasoning + text
        return Usage(
            input_tokens=given_,
            output_tokens=written,
            total_tokens=given_ + written,
            cache_read_tokens=read,
            cache_write_tokens=short + long,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
            reasoning_tokens=reasoning,
            **{name: draw(values) for name, values in more.items()},
        )

    return build()


SHARED = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "input_audio_tokens",
    "output_audio_tokens",
    "input_image_tokens",
    "output_image_tokens",
    "tool_use_prompt_tokens",
)
MORE = dict.fromkeys(SHARED[8:], COUNT.map(lambda value: value and value % 50))


def same(one: Usage, two: Usage, *names: str) -> bool:
    return all(getattr(one, name) == getattr(two, name) for name in (*SHARED, *names))


@given(told(web_search_requests=COUNT, service_tier=WORD, **MORE))
def test_litellm_gives_back_what_it_was_given(usage: Usage) -> None:
    litellm = pytest.importorskip("litellm")
    written = usage.to_litellm()
    assert isinstance(written, litellm.Usage)
    assert same(normalize_usage(written), usage, "web_search_requests", "service_tier")


@given(told())
def test_langchain_gives_back_what_it_was_given(usage: Usage) -> None:
    messages = pytest.importorskip("langchain_core.messages")
    written = messages.AIMessage("x", usage_metadata=usage.to_langchain())
    assert same(normalize_usage(written), usage)
    assert same(normalize_usage(usage.to_langchain()), usage)


@given(told(input_text_tokens=COUNT, output_text_tokens=COUNT, input_video_tokens=COUNT, **MORE))
def test_no_token_is_in_two_of_langchains_details(usage: Usage) -> None:
    written = usage.to_langchain()
    assert sum(written.get("input_token_details", {}).values()) <= written["input_tokens"]
    assert sum(written.get("output_token_details", {}).values()) <= written["output_tokens"]
    read = normalize_usage(written)
    assert (read.cache_read_tokens, read.cache_write_tokens) == (
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    assert read.reasoning_tokens == usage.reasoning_tokens


def test_langchains_modalities_are_less_the_cache() -> None:
    usage = Usage(
        input_tokens=100, output_tokens=1, total_tokens=101, cache_read_tokens=64, input_audio_tokens=30,
        input_text_tokens=70, details={"cache_read_audio_tokens": 10, "cache_read_text_tokens": 54},
    )  # fmt: skip
    assert usage.to_langchain()["input_token_details"] == {
        "cache_read": 64,
        "audio": 20,
        "text": 16,
    }
    known = replace(usage, details={}, input_audio_tokens=80, input_text_tokens=20)
    assert known.to_langchain()["input_token_details"] == {"cache_read": 64, "audio": 36, "text": 0}


@pytest.mark.parametrize(
    ("rest", "written"),
    [(0, 42), (42, 42), (8, 50), (60, 102)],
    ids=["0", "all of it", "a rest", "a sum of calls"],
)
def test_what_langchain_says_was_written_is_whole(rest: int, written: int) -> None:
    own = {
        "cache_read": 3,
        "cache_creation": rest,
        "ephemeral_5m_input_tokens": 40,
        "ephemeral_1h_input_tokens": 2,
    }
    usage = normalize_usage(
        {"input_tokens": 150, "output_tokens": 1, "total_tokens": 151, "input_token_details": own}
    )
    assert usage.cache_write_tokens == written
    assert usage.to_langchain()["input_token_details"] == {**own, "cache_creation": written - 42}


def test_opentelemetry_names_are_those_of_the_conventions() -> None:
    names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    usage = Usage(
        input_tokens=5,
        output_tokens=4,
        cache_read_tokens=3,
        cache_write_tokens=2,
        reasoning_tokens=1,
        model="m",
    )
    assert usage.to_opentelemetry() == {
        names.GEN_AI_USAGE_INPUT_TOKENS: 5,
        names.GEN_AI_USAGE_OUTPUT_TOKENS: 4,
        names.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 3,
        names.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: 2,
        names.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 1,
        names.GEN_AI_RESPONSE_MODEL: "m",
    }
    assert Usage().to_opentelemetry() == {}
