"""Sums over calls, by session, user, model, agent or whatever else a call is known by."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from importlib.util import find_spec
from threading import Lock
from typing import Any

from chatmend.usage.account import Usage
from chatmend.usage.prices import SOURCE, estimate_cost
from chatmend.usage.sums import plus

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
        return Row(
            keys={name: value for name, value in self.keys.items() if other.keys.get(name) == value},
            usage=self.usage + other.usage,
            calls=self.calls + other.calls,
            unfinished=self.unfinished + other.unfinished,
            unpriced=self.unpriced + other.unpriced,
            costs=_add_costs(self.costs + other.costs),
        )


@dataclass(slots=True)
class UsageLedger:
    """Counts calls. Any number of threads and tasks may add to one ledger.

    A row is kept for each combination of keys ever seen, until `reset`. Key a ledger of a proxy by who was
    authenticated first; what a client sends can only extend that key.
    """

    price: Price | None = field(default_factory=lambda: estimate_cost if find_spec("genai_prices") else None)
    """Asked for a cost that the provider does not report. genai-prices where it is installed; None to ask nobody."""
    _rows: dict[tuple[tuple[str, str], ...], Row] = field(default_factory=dict, repr=False)
    _new: list[tuple[dict[str, str], Usage, tuple[Cost, ...]]] = field(default_factory=list, repr=False)
    """Calls that are not in their rows yet: many one behind the other take a fraction of what each would alone."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, usage: Usage, **keys: str | None) -> None:
        """Count one call. ``model`` and ``provider`` are taken from the account where they are not given."""
        known = {"model": usage.model, "provider": usage.provider, **keys}
        named = {name: value for name, value in known.items() if value is not None}
        self._new.append((named, usage, self._costs(usage, named.get("model"))))
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
        """Put the new calls into their rows, under the lock; others may append meanwhile, so the list stays."""
        count = len(self._new)
        for named, usage, costs in self._new[:count]:
            row = Row(named, usage, 1, int(not usage.complete), int(not costs), costs)
            key = tuple(sorted(named.items()))
            self._rows[key] = self._rows[key] + row if key in self._rows else row
        del self._new[:count]

    def _costs(self, usage: Usage, model: str | None) -> tuple[Cost, ...]:
        if usage.cost is not None:
            return (Cost(usage.cost_source or "provider", usage.cost_currency or "USD", usage.cost),)
        estimate = self.price(replace(usage, model=model)) if self.price is not None else None
        return (Cost(SOURCE, "USD", estimate),) if estimate is not None else ()


def _grouped(rows: Mapping[tuple[tuple[str, str], ...], Row], by: Iterable[str] | None) -> tuple[Row, ...]:
    names = None if by is None else frozenset(by)
    groups: dict[tuple[tuple[str, str], ...], Row] = {}
    for key in sorted(rows):
        kept = key if names is None else tuple(pair for pair in key if pair[0] in names)
        row = replace(rows[key], keys=dict(kept))
        groups[kept] = groups[kept] + row if kept in groups else row
    return tuple(groups[key] for key in sorted(groups))


def _add_costs(costs: tuple[Cost, ...]) -> tuple[Cost, ...]:
    if len(costs) == 2 and costs[0].source == costs[1].source and costs[0].currency == costs[1].currency:  # noqa: PLR2004
        one, other = costs
        return (Cost(one.source, one.currency, Decimal(plus(one.amount, other.amount)), one.calls + other.calls),)
    sums: dict[tuple[str, str], Cost] = {}
    for cost in costs:
        key = (cost.source, cost.currency)
        known = sums.get(key, replace(cost, amount=Decimal(0), calls=0))
        sums[key] = replace(known, amount=Decimal(plus(known.amount, cost.amount)), calls=known.calls + cost.calls)
    return tuple(sums[key] for key in sorted(sums))
