"""Caches the results of recompression in memory, limited by bytes.

The least recently used result is removed first. Concurrent callers of the same key share one
computation.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmend.images.sizes import Size

_OVERHEAD = 512
"""Bytes that an entry needs in addition to its text."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of recompressing an image: an image, tiles, or the reason why there is neither."""

    text: str | None = None
    """The new image as base64; None if there is a problem."""
    type: str = ""
    size: Size = (0, 0)
    problem: str | None = None
    """Why there is no new image. Becomes part of the text that replaces the image."""
    undecoded: bool = False
    """Whether the image was not decoded. It may be intact; a target that accepts it gets it."""
    tiles: tuple[Outcome, ...] = ()
    """The tiles of an image that was cut, each with a text. ``text`` is None then."""


@dataclass(slots=True)
class _Computation:
    """A result that one caller is computing."""

    finished: Event
    outcome: Outcome | None = None


class ResultCache:
    """Stores outcomes by key, including failures.

    Args:
        max_bytes: the limit for all results together; 64 MiB by default.
    """

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        """Create an empty cache."""
        self.max_bytes = max_bytes
        self.used = 0
        self.hits = self.misses = 0
        self._known: OrderedDict[str, Outcome] = OrderedDict()
        self._running: dict[str, _Computation] = {}
        self._lock = Lock()

    def find(self, key: str, make: Callable[[], Outcome]) -> Outcome:
        """Return the outcome for a key, computed with ``make`` if it is not cached.

        One caller computes it while others wait for the result.
        """
        while True:
            with self._lock:
                if (known := self._known.get(key)) is not None:
                    self._known.move_to_end(key)
                    self.hits += 1
                    return known
                running = self._running.get(key)
                if running is None:
                    mine = self._running[key] = _Computation(Event())
                    self.misses += 1
                    break
            running.finished.wait()
            if running.outcome is not None:
                return running.outcome
        try:
            mine.outcome = make()
            return mine.outcome
        finally:
            self._finish(key, mine)

    def _finish(self, key: str, computation: _Computation) -> None:
        with self._lock:
            del self._running[key]
            if computation.outcome is not None:
                self._store(key, computation.outcome)
        computation.finished.set()

    def _store(self, key: str, outcome: Outcome) -> None:
        size = _size_of(outcome)
        if size > self.max_bytes:
            return
        self._known[key] = outcome
        self.used += size
        while self.used > self.max_bytes:
            _, oldest = self._known.popitem(last=False)
            self.used -= _size_of(oldest)

    def clear(self) -> None:
        """Remove all results."""
        with self._lock:
            self._known.clear()
            self.used = 0


def _size_of(outcome: Outcome) -> int:
    return _OVERHEAD + len(outcome.text or "") + sum(map(_size_of, outcome.tiles))
