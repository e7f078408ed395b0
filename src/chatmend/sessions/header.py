"""The header of a session: what it is about, how far it has come, and what it has used.

An HTML comment of ``name: value`` lines. A plain word stands as it is, any other text as a JSON string.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from chatmend.usage import Cost, Row, Usage
from chatmend.usage.prices import SOURCE as ESTIMATED

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9 ._:/@+-]*(?<! )\Z", re.ASCII)
UNUSED = Row({}, Usage(), calls=0)
"""The account of a session without calls."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of a session says, but for the digest, which the document adds."""

    created: datetime
    """UTC."""
    updated: datetime
    agent: str = ""
    dispatcher: str = ""
    """What sends the messages: ``litellm``, ``langchain``, or the caller's own word."""
    provider: str = ""
    model: str = ""
    dialect: str = ""
    """The wire format of the messages; empty: recognised from what they hold, each time anew."""
    messages: int = 0
    cache_boundary: int = 0
    """How many messages were sent in the last request: the prefix that the provider's cache holds. What stands behind
    them, such as its reply, was not sent yet."""
    turns: int = 0
    """How many requests were recorded."""
    parent: str = ""
    """The path of the session that this one was started from."""
    continues: str = ""
    """The path of the session that could not go on, because what was sent no longer began with what had been sent."""
    markers: tuple[Any, ...] = ()
    """Where the last request had cache markers; see ``markers.py``."""
    used: Row = UNUSED
    """What all calls of the session used together."""

    def lines(self) -> list[str]:
        """The header as it is written."""
        usage = self.used.usage
        ratio = usage.cache_hit_ratio
        told: list[tuple[str, str | int | None]] = [
            ("agent", _quoted(self.agent)),
            ("dispatcher", _quoted(self.dispatcher)),
            ("provider", _quoted(self.provider)),
            ("model", _quoted(self.model)),
            ("dialect", _quoted(self.dialect)),
            ("created", timestamp(self.created)),
            ("updated", timestamp(self.updated)),
            ("parent", _quoted(self.parent)),
            ("continues", _quoted(self.continues)),
            ("messages", self.messages),
            ("cache_boundary", self.cache_boundary),
            ("turns", self.turns),
            ("input_tokens", usage.input_tokens),
            ("output_tokens", usage.output_tokens),
            ("cached_tokens", usage.cache_read_tokens),
            ("cache_hit", None if ratio is None else f"{ratio:.1%}"),
            ("charged", _money(self.used.costs, estimated=False)),
            ("estimated", _money(self.used.costs, estimated=True)),
            ("markers", _json(self.markers) if self.markers else None),
            ("usage", _json(self.used.to_dict()) if self.used.calls else None),
        ]
        return [f"{name}: {value}" for name, value in told if value is not None]

    @classmethod
    def read(cls, lines: list[str]) -> Header:
        """The header that these lines say.

        Raises:
            ValueError: a line is missing, stands twice or says something else; ``args[1]`` is its place, from 0.
        """
        found: dict[str, Any] = {}
        for at, line in enumerate(lines):
            name, colon, text = line.partition(": ")
            if not colon or name in found:
                raise ValueError("expected 'name: value', each name once", at)
            try:
                found[name] = _READERS.get(name, _ignored)(text)
            except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RecursionError):
                raise ValueError(f"{name!r} has a value that cannot be read", at) from None
        for name in ("created", "updated", "messages", "cache_boundary", "turns"):
            if name not in found:
                raise ValueError(f"expected a line {name!r} in the header", len(lines))
        return cls(used=found.pop("usage", UNUSED), **{k: found[k] for k in found if k in _FIELDS})


_FIELDS = frozenset(f.name for f in fields(Header))


def timestamp(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _money(costs: tuple[Cost, ...], *, estimated: bool) -> str | None:
    """What was charged, or what the price list estimates, in each currency."""
    sums: dict[str, Decimal] = {}
    for cost in costs:
        if (cost.source == ESTIMATED) == estimated:
            sums[cost.currency] = sums.get(cost.currency, Decimal(0)) + cost.amount
    return " + ".join(f"{amount:f} {currency}" for currency, amount in sums.items()) or None


def _quoted(text: str) -> str | None:
    """A word as it is, any other text as JSON; None for no text."""
    return (text if _WORD.match(text) else _json(text)) if text else None


def _json(value: object) -> str:
    """JSON in one line that does not end the comment it stands in."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e")


def _text(text: str) -> str:
    if not text.startswith('"'):
        return text
    value = json.loads(text)
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _moment(text: str) -> datetime:
    if not _TIME.match(text):
        raise ValueError
    return datetime.fromisoformat(text)


def _row(text: str) -> Row:
    data = json.loads(text)
    costs = tuple(Cost(c["source"], c["currency"], Decimal(c["amount"]), c["calls"]) for c in data["costs"])
    usage = Usage.from_dict(data["usage"])
    return Row(data["keys"], usage, data["calls"], data["unfinished"], data["unpriced"], costs)


def _markers(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


def _ignored(text: str) -> str:
    """What people read is told by ``usage``, too; what a later version adds is no fault."""
    return text


_READERS: dict[str, Any] = {
    **dict.fromkeys(("agent", "dispatcher", "provider", "model", "dialect", "parent", "continues"), _text),
    **dict.fromkeys(("messages", "cache_boundary", "turns"), _count),
    **dict.fromkeys(("created", "updated"), _moment),
    "markers": _markers,
    "usage": _row,
}
