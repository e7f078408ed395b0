"""A ledger sums calls by any of their keys, also across threads and tasks."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from chatmend import Usage, UsageLedger, normalize_usage
from chatmend.usage import Cost, estimate_cost


def call(
    prompt: int = 10,
    completion: int = 5,
    cost: str | None = None,
    model: str | None = "gpt-4o-mini",
) -> Usage:
    priced = {"cost": cost} if cost is not None else {}
    return normalize_usage(
        {
            "model": model,
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion, **priced},
        }
    )


def silent() -> UsageLedger:
    return UsageLedger(price=None)


def test_an_empty_ledger_is_empty() -> None:
    assert silent().snapshot() == silent().reset() == ()
    assert silent().total() is None


def test_calls_are_summed_by_any_key() -> None:
    ledger = silent()
    ledger.add(call(10), user="ann", session="1", agent="planner")
    ledger.add(call(20), user="ann", session="2", agent="planner", sub_agent="search")
    ledger.add(call(40), user="bob", session="3")
    tokens = {
        row.keys.get("user"): (row.usage.input_tokens, row.calls)
        for row in ledger.snapshot(by=["user"])
    }
    assert tokens == {"ann": (30, 2), "bob": (40, 1)}
    assert [row.usage.input_tokens for row in ledger.snapshot(by=["agent"])] == [40, 30]
    assert [row.usage.input_tokens for row in ledger.snapshot(by=[])] == [70]
    found = ledger.total(user="ann", session="2")
    assert found is not None
    assert found.usage.input_tokens == 20
    assert ledger.total(user="eve") is None


def test_the_model_is_a_key_by_itself() -> None:
    ledger = silent()
    ledger.add(call(model="a"))
    ledger.add(call(model="a"))
    ledger.add(call(model="b"), model="alias")
    assert [(row.keys, row.calls) for row in ledger.snapshot()] == [
        ({"model": "a"}, 2),
        ({"model": "alias"}, 1),
    ]


def test_a_call_told_later_is_counted_as_one_told_at_once() -> None:
    at_once, later = silent(), silent()
    for number in range(150):
        usage, keys = call(number, cost="0.5"), {"user": f"u{number % 3}"}
        at_once.add(usage, **keys)
        later.add_later(lambda usage=usage, keys=keys: (usage, keys))  # type: ignore[misc] # the defaults bind both
    assert later.snapshot() == at_once.snapshot()
    assert [row.calls for row in later.reset()] == [50, 50, 50]


def test_a_call_that_cannot_be_told_is_lost_and_no_other() -> None:
    def fail() -> tuple[Usage, dict[str, str | None]]:
        raise RuntimeError("cannot be told")

    ledger = silent()
    ledger.add(call(10))
    ledger.add_later(fail)
    ledger.add(call(20))
    with pytest.raises(RuntimeError, match="cannot be told"):
        ledger.snapshot()
    (row,) = ledger.snapshot()
    assert (row.calls, row.usage.input_tokens) == (2, 30)


def test_a_reset_returns_what_was_there_and_begins_anew() -> None:
    ledger = silent()
    ledger.add(call(10), user="ann")
    assert [row.usage.input_tokens for row in ledger.reset(by=["user"])] == [10]
    assert ledger.snapshot() == ()


def test_a_snapshot_does_not_move() -> None:
    ledger = silent()
    ledger.add(call(10))
    before = ledger.snapshot()
    ledger.add(call(10))
    assert before[0].usage.input_tokens == 10


def test_threads_do_not_lose_calls_also_while_others_reset() -> None:
    ledger = silent()

    def work(worker: int) -> int:
        for _ in range(200):
            ledger.add(call(1, 1), worker=str(worker % 3))
        return sum(row.calls for row in ledger.reset())

    with ThreadPoolExecutor(8) as pool:
        taken = sum(pool.map(work, range(8)))
    assert taken + sum(row.calls for row in ledger.snapshot()) == 1600


def test_tasks_share_a_ledger() -> None:
    ledger = silent()

    async def work(name: str) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
            ledger.add(call(1, 1), task=name)

    async def all_of_them() -> None:
        await asyncio.gather(*(work(str(name)) for name in range(5)))

    asyncio.run(all_of_them())
    assert [row.calls for row in ledger.snapshot(by=["task"])] == [50] * 5


def test_a_cost_says_who_says_so() -> None:
    ledger = UsageLedger(price=lambda usage: Decimal(2) if usage.model == "known" else None)
    ledger.add(call(cost="0.1", model="known"))
    ledger.add(call(model="known"))
    ledger.add(call(model="known"))
    ledger.add(call(model="unknown"))
    row = ledger.total()
    assert row is not None
    assert row.costs == (
        Cost("genai-prices", "USD", Decimal(4), 2),
        Cost("provider", "USD", Decimal("0.1"), 1),
    )
    assert (row.cost_usd, row.unpriced, row.calls) == (Decimal("4.1"), 1, 4)


def test_currencies_stand_side_by_side() -> None:
    ledger = silent()
    ledger.add(call(cost="1"))
    ledger.add(Usage(input_tokens=1, cost=Decimal(3), cost_currency="EUR", cost_source="provider"))
    row = ledger.total()
    assert row is not None
    assert {cost.currency: cost.amount for cost in row.costs} == {"USD": 1, "EUR": 3}
    assert row.cost_usd == 1


def test_a_row_goes_into_json() -> None:
    ledger = silent()
    ledger.add(call(cost="0.10"), user="ann")
    row = json.loads(json.dumps(ledger.snapshot()[0].to_dict()))
    assert (row["keys"]["user"], row["calls"], row["usage"]["input_tokens"]) == ("ann", 1, 10)
    assert row["costs"] == [{"source": "provider", "currency": "USD", "amount": "0.10", "calls": 1}]


def test_failed_and_cut_calls_are_counted_as_such() -> None:
    ledger = silent()
    ledger.add(normalize_usage({"error": {"code": 500}}))
    ledger.add(call())
    row = ledger.total()
    assert row is not None
    assert (row.calls, row.unfinished) == (2, 1)


class TestEstimates:
    @pytest.fixture(autouse=True)
    def prices(self) -> None:
        pytest.importorskip("genai_prices")

    def test_cached_tokens_are_cheaper(self) -> None:
        full = Usage(
            input_tokens=10**6,
            output_tokens=0,
            total_tokens=10**6,
            model="gpt-4o-mini",
            provider="openai",
        )
        cached = Usage.from_dict({**full.to_dict(), "cache_read_tokens": 10**6})
        assert Decimal(0) < (estimate_cost(cached) or 0) < (estimate_cost(full) or 0)

    def test_a_part_is_priced_too(self) -> None:
        alone = Usage(
            input_tokens=10,
            output_tokens=5,
            total_tokens=15,
            model="claude-sonnet-4-5",
            provider="anthropic",
        )
        part = Usage(input_tokens=10, output_tokens=5, total_tokens=15, kind="compaction")
        both = Usage.from_dict({**alone.to_dict(), "parts": [part.to_dict()]})
        assert estimate_cost(both) == 2 * (estimate_cost(alone) or 0)

    def test_a_provider_that_the_list_calls_otherwise_is_found(self) -> None:
        gemini = Usage(
            input_tokens=10,
            output_tokens=5,
            total_tokens=15,
            model="gemini-2.5-flash",
            provider="vertex_ai",
        )
        assert estimate_cost(gemini)

    def test_an_unknown_model_has_no_price(self) -> None:
        assert estimate_cost(call(model="no such model")) is None
        assert estimate_cost(call(model=None)) is None

    def test_details_that_contradict_do_not_raise(self) -> None:
        assert (
            estimate_cost(
                Usage(input_tokens=1, total_tokens=1, cache_read_tokens=9, model="grok-4")
            )
            is None
        )


def test_a_price_may_read_the_ledger_that_asks_it() -> None:
    ledger = UsageLedger()
    ledger.price = lambda _: Decimal("0.1") if ledger.total() is None else Decimal("0.2")
    for _ in range(130):  # more than one batch of calls
        ledger.add_later(lambda: (Usage(input_tokens=1), {"user": "u"}))
    (row,) = ledger.snapshot()
    assert row.calls == 130


def test_the_keys_of_a_call_are_those_it_was_told_with() -> None:
    ledger, keys = UsageLedger(price=None), dict[str, str | None]()

    def told(user: str) -> Any:
        def tell() -> tuple[Usage, dict[str, str | None]]:
            keys["user"] = user
            return Usage(input_tokens=1), keys

        return tell

    ledger.add_later(told("a"))
    ledger.add_later(told("b"))
    assert [(row.keys, row.calls) for row in ledger.snapshot()] == [
        ({"user": "a"}, 1),
        ({"user": "b"}, 1),
    ]


def test_calls_that_cannot_be_added_up_cost_no_other_row() -> None:
    ledger = UsageLedger(price=None)
    counts: list[Any] = [1, "7"]
    for count in counts:
        ledger.add_later(lambda count=count: (Usage(input_tokens=count), {"user": "a"}))  # type: ignore[misc]
    ledger.add_later(lambda: (Usage(input_tokens=1), {"user": "b"}))
    with pytest.raises(TypeError):
        ledger.snapshot()
    assert [row.keys for row in ledger.snapshot()] == [{"user": "b"}]


def fails() -> tuple[Usage, dict[str, Any]]:
    raise KeyError("no such key")


def is_no_key() -> tuple[Usage, dict[str, Any]]:
    return Usage(input_tokens=1), {"user": ["u"]}


@pytest.mark.parametrize(("broken", "error"), [(fails, KeyError), (is_no_key, TypeError)])
def test_a_call_that_cannot_be_counted_costs_no_other_and_is_heard_of(
    broken: Any, error: type[Exception]
) -> None:
    ledger, heard = UsageLedger(price=None), list[str]()
    ledger.add_later(broken, lambda error: heard.append(type(error).__name__))
    ledger.add_later(lambda: (Usage(input_tokens=1), {"user": "u"}))
    assert [row.calls for row in ledger.snapshot()] == [1]
    assert heard == [error.__name__]
    ledger.add_later(broken)
    ledger.add_later(lambda: (Usage(input_tokens=1), {"user": "u"}))
    with pytest.raises(error):
        ledger.snapshot()
    assert [row.calls for row in ledger.snapshot()] == [2]
