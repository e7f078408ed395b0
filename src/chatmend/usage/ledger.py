"""Adds up the usage of calls by session, user, model, agent or any other key."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from importlib.util import find_spec
from operator import itemgetter
from threading import RLock
from typing import Any

from chatmend.usage.prices import SOURCE, estimate_cost
from chatmend.usage.sums import sum_amounts, total
from chatmend.usage.usage_record import Usage

_BATCH = 64
Price = Callable[[Usage], Decimal | None]
"""A function that estimates the cost of a call in US dollars; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of money and its source."""

    source: str
    """``provider``, ``litellm`` or another gateway, or ``genai-prices`` for an estimate."""
    currency: str
    amount: Decimal
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """The sum of the calls with the same keys."""

    keys: Mapping[str, str]
    usage: Usage
    calls: int = 1
    unfinished: int = 0
    """The number of calls that failed or were interrupted. Their known usage is in the sum."""
    unpriced: int = 0
    """The number of calls without a cost, reported or estimated."""
    costs: tuple[Cost, ...] = ()

    @property
    def cost_usd(self) -> Decimal | None:
        """The sum of all costs in US dollars, reported and estimated; None if there are none.

        `costs` lists them by source.
        """
        amounts = [cost.amount for cost in self.costs if cost.currency == "USD"]
        return sum(amounts, Decimal(0)) if amounts else None

    def to_dict(self) -> dict[str, Any]:
        """Return the row, ready for JSON. Amounts are strings, so that they are not rounded."""
        costs = [{**asdict(cost), "amount": str(cost.amount)} for cost in self.costs]
        counts = {"calls": self.calls, "unfinished": self.unfinished, "unpriced": self.unpriced}
        return {"keys": dict(self.keys), **counts, "usage": self.usage.to_dict(), "costs": costs}

    def __add__(self, other: "Row") -> "Row":
        """Add two rows. The result has the keys that are equal in both."""
        keys = {name: value for name, value in self.keys.items() if other.keys.get(name) == value}
        return _sum_rows(keys, [self, other])


@dataclass(slots=True)
class UsageLedger:
    """Adds up the usage of calls. It is thread-safe.

    The ledger keeps one row for each combination of keys until `reset`. In a proxy, use the
    authenticated user or team as the first key; values from clients should only extend it.
    """

    price: Price | None = field(
        default_factory=lambda: estimate_cost if find_spec("genai_prices") else None
    )
    """Estimates a cost that the provider did not report; None disables estimates.

    By default genai-prices, if it is installed.
    """
    _rows: dict[tuple[tuple[str, str], ...], Row] = field(default_factory=dict, repr=False)
    _pending: deque[tuple["_Call | _Load", Callable[[Exception], object] | None]] = field(
        default_factory=deque, repr=False
    )
    """Calls that are not in the rows yet. Adding many at once takes a fraction of the time."""
    _lock: RLock = field(default_factory=RLock, repr=False)

    def add(self, usage: Usage, **keys: str | None) -> None:
        """Add one call. ``model`` and ``provider`` default to those of the usage record."""
        call = self._call(usage, keys)
        self._enqueue(call)

    def add_later(
        self,
        load: "_Load",
        on_error: Callable[[Exception], object] | None = None,
    ) -> None:
        """Add one call whose usage record and keys are computed later.

        For latency-critical code: computing many calls at once takes a fraction of the time.

        Args:
            load: returns the usage record and the keys. It is called when the ledger is read, or
                some calls later.
            on_error: called if ``load`` or ``price`` raises an exception; the call is then lost. By
                default the exception is raised from the method that called ``load``.
        """
        self._enqueue(load, on_error)

    def _enqueue(
        self, added: "_Call | _Load", on_error: Callable[[Exception], object] | None = None
    ) -> None:
        self._pending.append((added, on_error))
        if len(self._pending) >= _BATCH:
            with self._lock:
                self._add_pending()

    def snapshot(self, by: Iterable[str] | None = None) -> tuple[Row, ...]:
        """Return the rows, sorted by their keys. ``by`` names the keys to group by."""
        with self._lock:
            self._add_pending()
            rows = dict(self._rows)
        return _group_rows(rows, by)

    def total(self, **keys: str) -> Row | None:
        """Return the sum of all calls with these keys; None if there are none."""
        found = [
            row
            for row in self.snapshot()
            if all(row.keys.get(name) == value for name, value in keys.items())
        ]
        return sum(found[1:], found[0]) if found else None

    def reset(self, by: Iterable[str] | None = None) -> tuple[Row, ...]:
        """Empty the ledger and return its rows.

        A call that is added at the same time is either in the result or in the ledger.
        """
        with self._lock:
            self._add_pending()
            rows, self._rows = self._rows, {}
        return _group_rows(rows, by)

    def _add_pending(self) -> None:
        """Add the pending calls to their rows. The caller must hold the lock.

        Other threads may add pending calls meanwhile, and ``price`` may read the ledger.
        """
        alike: dict[tuple[object, ...], list[_Call]] = {}
        errors: list[Exception] = []
        while self._pending:
            added, on_error = self._pending.popleft()
            try:
                call = added if isinstance(added, tuple) else self._call(*added())
                usage, keys, _ = call
                # There are as many names as values, so calls with different keys do not collide.
                alike.setdefault((usage.model, usage.provider, *keys, *keys.values()), []).append(
                    call
                )
            except Exception as error:  # noqa: BLE001 - the other calls must be added
                _report(error, on_error, errors)
        for calls in alike.values():
            try:
                row = _sum_calls(calls)
                key = tuple(sorted(row.keys.items()))
                known = self._rows.get(key)
                self._rows[key] = row if known is None else _sum_rows(known.keys, [known, row])
            except Exception as error:  # noqa: BLE001 - the other rows must be added
                errors.append(error)
        if errors:
            raise errors[0]

    def _call(self, usage: Usage, keys: Mapping[str, str | None]) -> "_Call":
        """Return one call with its cost. The keys are copied: the caller may change them."""
        return usage, {**keys}, self._cost(usage, keys)

    def _cost(self, usage: Usage, keys: Mapping[str, str | None]) -> "_CostFields | None":
        if usage.cost is not None:
            return usage.cost_source or "provider", usage.cost_currency or "USD", usage.cost, 1
        if self.price is None:
            return None
        estimate = self.price(replace(usage, model=_keys_of(usage, keys).get("model")))
        return None if estimate is None else (SOURCE, "USD", estimate, 1)


_CostFields = tuple[str, str, Decimal, int]
"""The fields of a `Cost`; a tuple is created faster."""
_Call = tuple[Usage, Mapping[str, str | None], _CostFields | None]
"""A usage record, the keys of the call, and its cost."""
_Load = Callable[[], tuple[Usage, Mapping[str, str | None]]]
"""A function that returns the usage record and the keys of a call."""


def _keys_of(usage: Usage, keys: Mapping[str, str | None]) -> dict[str, str]:
    known = {"model": usage.model, "provider": usage.provider, **keys}
    return {name: value for name, value in known.items() if value is not None}


def _sum_calls(calls: list[_Call]) -> Row:
    """Add up calls with the same keys."""
    usages = [usage for usage, _, _ in calls]
    costs = [cost for _, _, cost in calls if cost is not None]
    return Row(
        keys=_keys_of(*calls[0][:2]),
        usage=total(usages),
        calls=len(calls),
        unfinished=sum(not usage.complete for usage in usages),
        unpriced=len(calls) - len(costs),
        costs=_add_costs(costs),
    )


def _report(
    error: Exception, on_error: Callable[[Exception], object] | None, errors: list[Exception]
) -> None:
    if on_error is None:
        errors.append(error)
        return
    try:
        on_error(error)
    except Exception as again:  # noqa: BLE001 - the other calls must be added
        errors.append(again)


def _sum_rows(keys: Mapping[str, str], rows: list[Row]) -> Row:
    """Add up rows. The result has the given keys."""
    return Row(
        keys=keys,
        usage=total([row.usage for row in rows]),
        calls=sum(row.calls for row in rows),
        unfinished=sum(row.unfinished for row in rows),
        unpriced=sum(row.unpriced for row in rows),
        costs=_add_costs(
            [(c.source, c.currency, c.amount, c.calls) for row in rows for c in row.costs]
        ),
    )


def _group_rows(
    rows: Mapping[tuple[tuple[str, str], ...], Row], by: Iterable[str] | None
) -> tuple[Row, ...]:
    names = None if by is None else frozenset(by)
    groups: dict[tuple[tuple[str, str], ...], Row] = {}
    for key in sorted(rows):
        kept = key if names is None else tuple(pair for pair in key if pair[0] in names)
        row = replace(rows[key], keys=dict(kept))
        groups[kept] = groups[kept] + row if kept in groups else row
    return tuple(groups[key] for key in sorted(groups))


def _add_costs(costs: list[_CostFields]) -> tuple[Cost, ...]:
    """Add up the costs of each source and currency, sorted by these."""
    sums: dict[tuple[str, str], list[_CostFields]] = {}
    for cost in costs:
        sums.setdefault(cost[:2], []).append(cost)
    return tuple(
        Cost(*name, sum_amounts([cost[2] for cost in alike]), sum(cost[3] for cost in alike))
        for name, alike in sorted(sums.items(), key=itemgetter(0))
    )
