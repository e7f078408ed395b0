"""How much may be decoded at once, over all threads of the process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Budget:
    """So many decodes, and so many bytes of them, at one time; who comes later waits.

    Args:
        workers: decodes at one time; by default as many as there are processors, four at most.
        memory: bytes of all decodes together.
        most: bytes that one image may take; what needs more is not decoded. 320 MiB are 64 megapixels of RGB, or 19 of
            WebP.
    """

    def __init__(self, workers: int | None = None, memory: int = 384 << 20, most: int = 320 << 20) -> None:
        """Nobody works yet."""
        self.most = min(most, memory)
        self._workers = workers or min(4, os.cpu_count() or 1)
        self._memory = memory
        self._busy = self._used = 0
        self._free = Condition()

    @contextmanager
    def room(self, cost: int) -> Iterator[None]:
        """Wait for room for ``cost`` bytes, and hold it."""
        with self._free:
            self._free.wait_for(lambda: self._has_room(cost))
            self._busy += 1
            self._used += cost
        try:
            yield
        finally:
            with self._free:
                self._busy -= 1
                self._used -= cost
                self._free.notify_all()

    def _has_room(self, cost: int) -> bool:
        return self._busy == 0 or (self._busy < self._workers and self._used + cost <= self._memory)
