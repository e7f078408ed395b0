"""A logger that waits until LiteLLM, which logs in the background, has logged a number of calls."""

from __future__ import annotations

import asyncio
from itertools import count
from threading import Condition
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

TIMEOUT = 120
"""Seconds."""
_numbers = count(1)


class LogWaiter(CustomLogger):
    """Counts logged calls; loggers that were registered earlier have received them before."""

    def __init__(self) -> None:
        super().__init__()
        self.number = next(_numbers)  # LiteLLM deduplicates loggers with equal attributes
        self.calls = 0
        """Calls that succeeded."""
        self.failures = 0
        self._changed = Condition()

    def log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        with self._changed:
            self.calls += 1
            self._changed.notify_all()

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    def log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        with self._changed:
            self.failures += 1
            self._changed.notify_all()

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        self.log_failure_event(kwargs, response_obj, start_time, end_time)

    def wait(self, calls: int = 1, *, failures: int = 0, seconds: float = TIMEOUT) -> bool:
        """Wait until so many calls and failures have been logged; return whether they have."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.calls >= calls and self.failures >= failures, seconds
            )

    async def wait_async(
        self, calls: int = 1, *, failures: int = 0, seconds: float = TIMEOUT
    ) -> bool:
        """Do the same as `wait` without blocking the event loop."""
        return await asyncio.to_thread(self.wait, calls, failures=failures, seconds=seconds)
