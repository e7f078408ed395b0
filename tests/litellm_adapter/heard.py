"""Tells when LiteLLM, which logs in the background, has logged a number of calls."""

from __future__ import annotations

import asyncio
from itertools import count
from threading import Condition
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

PATIENCE = 120
_numbers = count(1)


class Heard(CustomLogger):
    """A logger that counts calls. Those that were registered before it have been told of a call when it is."""

    def __init__(self) -> None:
        super().__init__()
        self.number = next(_numbers)  # LiteLLM takes two loggers with the same attributes for one
        self.calls = 0
        self._changed = Condition()

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        with self._changed:
            self.calls += 1
            self._changed.notify_all()

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    def wait(self, calls: int = 1, patience: float = PATIENCE) -> bool:
        """Wait until so many calls have been logged."""
        with self._changed:
            return self._changed.wait_for(lambda: self.calls >= calls, patience)

    async def heard(self, calls: int = 1, patience: float = PATIENCE) -> bool:
        """As `wait`, while the event loop goes on."""
        return await asyncio.to_thread(self.wait, calls, patience)
