"""Sums over calls, by session, user, model, agent or whatever else a call is known by."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from importlib.util import find_spec
from operator import itemgetter
from threading import RLock
from typing import Any

from chatmend.usage.account import Usage
from chatmend.usage.prices import SOURCE, estimate_cost
from chatmend.usage.sums import amount_of, total

_BATCH = 64
Price = Callable[[Usage], Decimal | None]
"""What a call would cost in US dollars, or None where that is not known."""


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount, and who says so."""

    source: str
    """``provider``, ``litellm`` or another gateway that reported it, ``genai-prices`` for an estimate."""
    currency: str
    amount: Decimal
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """The calls that share their keys."""

    keys: Mapping[str, str]
    usage: Usage
    calls: int = 1
    unfinished: int = 0
    """Calls that failed or were cut off; what they are known to have used is in the sum."""
    unpriced: int = 0
    """Calls whose cost neither the provider nor the price list tells."""
    costs: tuple[Cost, ...] = ()

    @property
    def cost_usd(self) -> Decimal | None:
        """All costs in US dollars, reported and estimated; None where no call has one. `costs` tells them apart."""
        amounts = [cost.amount for cost in self.costs if cost.currency == "USD"]
        return sum(amounts, Decimal(0)) if amounts else None

    def to_dict(self) -> dict[str, Any]:
        """What the row says, ready for JSON; amounts are strings, so that none is rounded."""
        costs = [{**asdict(cost), "amount": str(cost.amount)} for cost in self.costs]
        counts = {"calls": self.calls, "unfinished": self.unfinished, "unpriced": self.unpriced}
        return {"keys": dict(self.keys), **counts, "usage": self.usage.to_dict(), "costs": costs}

    def __add__(self, other: "Row") -> "Row":
        """Both rows in one, with the keys on which they agree."""
        keys = {name: value for name, value in self.keys.items() if other.keys.get(name) == value}
        return _joined(keys, [self, other])


@dataclass(slots=True)
class UsageLedger:
    """Counts calls. Any number of threads and tasks may add to one ledger.

    A row is kept for each combination of keys ever seen, until `reset`. Key a ledger of a proxy by who was
    authenticated first; what a client sends can only extend that key.
    """

    price: Price | None = field(default_factory=lambda: estimate_cost if find_spec("genai_prices") else None)
    """Asked for a cost that the provider does not report. genai-prices where it is installed; None to ask nobody."""
    _rows: dict[tuple[tuple[str, str], ...], Row] = field(default_factory=dict, repr=False)
    _new: deque[tuple[Callable[[], "_Call"], Callable[[Exception], object] | None]] = field(
        default_factory=deque, repr=False
    )
    """Calls that are not in their rows yet: many one behind the other take a fraction of what each would alone."""
    _lock: RLock = field(default_factory=RLock, repr=False)

    def add(self, usage: Usage, **keys: str | None) -> None:
        """Count one call. ``model`` and ``provider`` are taken from the account where they are not given."""
        call = self._call(usage, keys)
        self._keep(lambda: call)

    def add_later(
        self,
        told: Callable[[], tuple[Usage, Mapping[str, str | None]]],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Count one call whose account and keys are asked for when the ledger is read, or some calls from now.

        For calls whose time counts: many told one behind the other take a fraction of what each would alone. Where
        ``told`` or the price fails the call is lost, and ``failed`` hears of it; without that the exception reaches
        whoever reads the ledger, or adds the call that is one too many.
        """
        self._keep(lambda: self._call(*told()), failed)

    def _keep(self, call: Callable[[], "_Call"], failed: Callable[[Exception], object] | None = None) -> None:
        self._new.append((call, failed))
        if len(self._new) >= _BATCH:
            with self._lock:
                self._settle()

    def snapshot(self, by: Iterable[str] | None = None) -> tuple[Row, ...]:
        """The rows as they are now, in the order of their keys; summed up by the keys that are named."""
        with self._lock:
            self._settle()
            rows = dict(self._rows)
        return _grouped(rows, by)

    def total(self, **keys: str) -> Row | None:
        """The sum of all calls with these keys; None where there is none."""
        found = [row for row in self.snapshot() if all(row.keys.get(name) == value for name, value in keys.items())]
        return sum(found[1:], found[0]) if found else None

    def reset(self, by: Iterable[str] | None = None) -> tuple[Row, ...]:
        """Empty the ledger and return what was in it. A call added meanwhile is in the one or in the other."""
        with self._lock:
            self._settle()
            rows, self._rows = self._rows, {}
        return _grouped(rows, by)

    def _settle(self) -> None:
        """Put the new calls into their rows, under the lock; others may append meanwhile, and a price may read."""
        alike: dict[tuple[object, ...], list[_Call]] = {}
        errors: list[Exception] = []
        while self._new:
            made, failed = self._new.popleft()
            try:
                call = made()
                usage, keys, _ = call
                # as many names as values, so two that differ in either are two
                alike.setdefault((usage.model, usage.provider, *keys, *keys.values()), []).append(call)
            except Exception as error:  # noqa: BLE001 - one call must not cost the others
                _tell(error, failed, errors)
        for calls in alike.values():
            try:
                row = _counted(calls)
                key = tuple(sorted(row.keys.items()))
                known = self._rows.get(key)
                self._rows[key] = row if known is None else _joined(known.keys, [known, row])
            except Exception as error:  # noqa: BLE001 - nor a row of calls that cannot be added up another one
                errors.append(error)
        if errors:
            raise errors[0]

    def _call(self, usage: Usage, keys: Mapping[str, str | None]) -> "_Call":
        """One call with what it cost. The keys are copied: the caller may go on with them."""
        return usage, {**keys}, self._cost(usage, keys)

    def _cost(self, usage: Usage, keys: Mapping[str, str | None]) -> "_Spent | None":
        if usage.cost is not None:
            return usage.cost_source or "provider", usage.cost_currency or "USD", usage.cost, 1
        if self.price is None:
            return None
        estimate = self.price(replace(usage, model=_named(usage, keys).get("model")))
        return None if estimate is None else (SOURCE, "USD", estimate, 1)


_Spent = tuple[str, str, Decimal, int]
"""The fields of a `Cost`, which takes longer to make."""
_Call = tuple[Usage, Mapping[str, str | None], _Spent | None]
"""An account, what the call is known by, and what it cost."""


def _named(usage: Usage, keys: Mapping[str, str | None]) -> dict[str, str]:
    known = {"model": usage.model, "provider": usage.provider, **keys}
    return {name: value for name, value in known.items() if value is not None}


def _counted(calls: list[_Call]) -> Row:
    """Calls with the same keys as one row."""
    usages = [usage for usage, _, _ in calls]
    costs = [cost for _, _, cost in calls if cost is not None]
    return Row(
        keys=_named(*calls[0][:2]),
        usage=total(usages),
        calls=len(calls),
        unfinished=sum(not usage.complete for usage in usages),
        unpriced=len(calls) - len(costs),
        costs=_add_costs(costs),
    )


def _tell(error: Exception, failed: Callable[[Exception], object] | None, errors: list[Exception]) -> None:
    if failed is None:
        errors.append(error)
        return
    try:
        failed(error)
    except Exception as again:  # noqa: BLE001 - as above
        errors.append(again)


def _joined(keys: Mapping[str, str], rows: list[Row]) -> Row:
    """Some rows as one, which has these keys."""
    return Row(
        keys=keys,
        usage=total([row.usage for row in rows]),
        calls=sum(row.calls for row in rows),
        unfinished=sum(row.unfinished for row in rows),
        unpriced=sum(row.unpriced for row in rows),
        costs=_add_costs([(c.source, c.currency, c.amount, c.calls) for row in rows for c in row.costs]),
    )


def _grouped(rows: Mapping[tuple[tuple[str, str], ...], Row], by: Iterable[str] | None) -> tuple[Row, ...]:
    names = None if by is None else frozenset(by)
    groups: dict[tuple[tuple[str, str], ...], Row] = {}
    for key in sorted(rows):
        kept = key if names is None else tuple(pair for pair in key if pair[0] in names)
        row = replace(rows[key], keys=dict(kept))
        groups[kept] = groups[kept] + row if kept in groups else row
    return tuple(groups[key] for key in sorted(groups))


def _add_costs(costs: list[_Spent]) -> tuple[Cost, ...]:
    """One cost for each source and currency, in that order."""
    sums: dict[tuple[str, str], list[_Spent]] = {}
    for cost in costs:
        sums.setdefault(cost[:2], []).append(cost)
    return tuple(
        Cost(*name, amount_of([cost[2] for cost in alike]), sum(cost[3] for cost in alike))
        for name, alike in sorted(sums.items(), key=itemgetter(0))
    )
