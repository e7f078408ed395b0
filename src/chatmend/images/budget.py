"""Limits the memory that decoding uses, over all threads of the process."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING

from chatmend.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = 512_000_000
"""The default limit in bytes."""
VARIABLE = "CHATMEND_IMAGE_MEMORY"
"""The environment variable that sets the limit of the recompressor shared by the whole process."""
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMG]B)?\s*", re.IGNORECASE | re.ASCII)


class Budget:
    """Limits concurrent decodes and their memory; further callers wait.

    Args:
        workers: the number of concurrent decodes; by default the number of processors, at most 4.
        memory: the limit in bytes for all decodes together.
        max_per_image: the limit in bytes for one image, by default ``memory``. An image that
            needs more is not decoded.
    """

    def __init__(
        self, workers: int | None = None, memory: int = MEMORY, max_per_image: int | None = None
    ) -> None:
        """Create a budget that no decode uses yet."""
        self.max_per_image = memory if max_per_image is None else min(max_per_image, memory)
        self._workers = workers or min(4, os.cpu_count() or 1)
        self._memory = memory
        self._busy = self._used = 0
        self._free = Condition()

    @contextmanager
    def reserve(self, cost: int) -> Iterator[None]:
        """Wait until ``cost`` bytes are free, and reserve them for the ``with`` block."""
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


def memory_of(value: object) -> int:
    """Convert a number, or a text such as ``"512 MB"``, to bytes.

    >>> memory_of("1.5 GB")
    1500000000

    Raises:
        PolicyError: the value is something else, or less than one byte.
    """
    found = (
        _SIZE.fullmatch(str(value)) if isinstance(value, int | str) and value is not True else None
    )
    size = int(float(found[1]) * _UNITS[(found[2] or "").upper()]) if found else 0
    if size < 1:
        raise PolicyError(f"image_memory={value!r}: give bytes, or a size such as '512 MB'")
    return size
