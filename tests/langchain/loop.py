"""One event loop for all tests.

Partner packages cache their async clients, and a client only works in the event loop in which it
was created.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
_runner = asyncio.Runner()


def run(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine until it completes and return its result."""
    return _runner.run(work)
