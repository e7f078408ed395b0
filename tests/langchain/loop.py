"""One event loop for all tests: partners keep their async clients, which belong to the loop they were made in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
_runner = asyncio.Runner()


def run(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end."""
    return _runner.run(work)
