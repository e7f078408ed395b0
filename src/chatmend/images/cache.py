"""Results of recompression by content: bounded by bytes, least recently used goes first, each made once at a time."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.sizes import Size

_OVERHEAD = 512
"""Bytes that an entry takes beside its text."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an image: another image, or the reason why there is none."""

    text: str | None = None
    """The new image as base64; None if there is a problem."""
    type: str = ""
    size: Size = (0, 0)
    problem: str | None = None
    """Why nothing can be made of it."""
    unknown: bool = False
    """It was not decoded, so it may be intact: a target that accepts it gets the original."""


@dataclass(slots=True)
class _Flight:
    """A result on its way."""

    landed: Event
    outcome: Outcome | None = None


class ResultCache:
    """Outcomes by key, failures among them.

    Args:
        max_bytes: what all results together may take; 64 MiB by default.
    """

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        """Nothing is known yet."""
        self.max_bytes = max_bytes
        self.used = 0
        self.hits = self.misses = 0
        self._known: OrderedDict[str, Outcome] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self._lock = Lock()

    def find(self, key: str, make: Callable[[], Outcome]) -> Outcome:
        """The outcome for a key; made when it is not known, by one caller while others wait for it."""
        while True:
            with self._lock:
                if (known := self._known.get(key)) is not None:
                    self._known.move_to_end(key)
                    self.hits += 1
                    return known
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = _Flight(Event())
                    self.misses += 1
                    break
            flight.landed.wait()
            if flight.outcome is not None:
                return flight.outcome
        try:
            mine.outcome = make()
            return mine.outcome
        finally:
            self._land(key, mine)

    def _land(self, key: str, flight: _Flight) -> None:
        with self._lock:
            del self._flights[key]
            if flight.outcome is not None:
                self._keep(key, flight.outcome)
        flight.landed.set()

    def _keep(self, key: str, outcome: Outcome) -> None:
        weight = _weight(outcome)
        if weight > self.max_bytes:
            return
        self._known[key] = outcome
        self.used += weight
        while self.used > self.max_bytes:
            _, oldest = self._known.popitem(last=False)
            self.used -= _weight(oldest)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()
            self.used = 0


def _weight(outcome: Outcome) -> int:
    return _OVERHEAD + len(outcome.text or "")
