"""The header of a session: agent and target, number of messages and turns, and usage.

It is an HTML comment of ``name: value`` lines. Simple words are written unchanged, other texts as
JSON strings.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from chatmend.errors import PolicyError
from chatmend.session_memory import SessionMemory
from chatmend.usage import Cost, Row, Usage
from chatmend.usage.prices import SOURCE as ESTIMATED

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9 ._:/@+-]*(?<! )\Z", re.ASCII)
NO_USAGE = Row({}, Usage(), calls=0)
"""The usage of a session without calls."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a session, except for the digest, which the document adds."""

    created: datetime
    """The time of creation, in UTC."""
    updated: datetime
    agent: str = ""
    dispatcher: str = ""
    """The sender of the messages: ``litellm``, ``langchain``, or a name that the caller chose."""
    provider: str = ""
    model: str = ""
    dialect: str = ""
    """The wire format of the messages. If empty, every repair recognises it from their content."""
    messages: int = 0
    cache_boundary: int = 0
    """The number of messages in the last request, which the provider may have cached.

    Messages after them, such as the reply, were not sent yet.
    """
    turns: int = 0
    """The number of requests that were recorded."""
    parent: str = ""
    """The path of the session from which this one was started."""
    continues: str = ""
    """The path of the session that this one replaces.

    Later requests no longer began with the messages that had been sent in it.
    """
    markers: tuple[Any, ...] = ()
    """The cache markers of the last request, with their positions; see ``markers.py``."""
    used: Row = NO_USAGE
    """The usage of all calls of the session."""
    memory: SessionMemory | None = None
    """What was sent, for models that refuse thinking behind a changed prompt."""

    def lines(self) -> list[str]:
        """Return the lines of the header."""
        usage = self.used.usage
        ratio = usage.cache_hit_ratio
        entries: list[tuple[str, str | int | None]] = [
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
            ("memory", _json(self.memory.to_dict()) if self.memory else None),
        ]
        return [f"{name}: {value}" for name, value in entries if value is not None]

    @classmethod
    def read(cls, lines: list[str]) -> Header:
        """Return the header with these lines.

        Raises:
            ValueError: a line is missing, duplicated or malformed; ``args[1]`` is its index.
        """
        found: dict[str, Any] = {}
        for index, line in enumerate(lines):
            name, colon, text = line.partition(": ")
            if not colon or name in found:
                raise ValueError("expected 'name: value', with every name only once", index)
            try:
                found[name] = _READERS.get(name, _ignored)(text)
            except (
                ValueError,
                TypeError,
                KeyError,
                ArithmeticError,
                AttributeError,
                RecursionError,
            ):
                raise ValueError(f"{name!r} has an invalid value", index) from None
        for name in ("created", "updated", "messages", "cache_boundary", "turns"):
            if name not in found:
                raise ValueError(f"expected a line {name!r} in the header", len(lines))
        return cls(
            used=found.pop("usage", NO_USAGE), **{k: found[k] for k in found if k in _FIELDS}
        )


_FIELDS = frozenset(f.name for f in fields(Header))


def timestamp(moment: datetime) -> str:
    """Return a time in UTC, in the format of RFC 3339."""
    # strftime writes years before 1000 without zeros on Linux.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _money(costs: tuple[Cost, ...], *, estimated: bool) -> str | None:
    """Return the sum of charged or of estimated costs for each currency; None if there are none."""
    sums: dict[str, Decimal] = {}
    for cost in costs:
        if (cost.source == ESTIMATED) == estimated:
            sums[cost.currency] = sums.get(cost.currency, Decimal(0)) + cost.amount
    return " + ".join(f"{amount:f} {currency}" for currency, amount in sums.items()) or None


def _quoted(text: str) -> str | None:
    """Return a simple word unchanged and any other text as JSON; None for an empty text."""
    return (text if _WORD.match(text) else _json(text)) if text else None


def _json(value: object) -> str:
    """Return one line of JSON that cannot end the HTML comment that contains it."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e")


def _read_text(text: str) -> str:
    if not text.startswith('"'):
        return text
    value = json.loads(text)
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _read_time(text: str) -> datetime:
    if not _TIME.match(text):
        raise ValueError
    return datetime.fromisoformat(text)


def _read_row(text: str) -> Row:
    data = json.loads(text)
    costs = tuple(
        Cost(c["source"], c["currency"], Decimal(c["amount"]), c["calls"]) for c in data["costs"]
    )
    usage = Usage.from_dict(data["usage"])
    return Row(data["keys"], usage, data["calls"], data["unfinished"], data["unpriced"], costs)


def _read_markers(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


def _read_memory(text: str) -> SessionMemory | None:
    """Return a session memory; None if another version has written it in another form."""
    try:
        return SessionMemory.from_dict(json.loads(text))
    except PolicyError:
        return None


def _ignored(text: str) -> str:
    """Accept a line without reading it.

    Lines for people repeat data of ``usage``, and later versions may add further lines.
    """
    return text


_READERS: dict[str, Any] = {
    **dict.fromkeys(
        ("agent", "dispatcher", "provider", "model", "dialect", "parent", "continues"), _read_text
    ),
    **dict.fromkeys(("messages", "cache_boundary", "turns"), _read_count),
    **dict.fromkeys(("created", "updated"), _read_time),
    "markers": _read_markers,
    "usage": _read_row,
    "memory": _read_memory,
}
