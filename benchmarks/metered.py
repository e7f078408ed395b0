"""Measures the CPU time inside the hooks of a LiteLLM callback.

A LiteLLM proxy loads ``callback`` from this module; it also records the CPU time of the process.
"""

from __future__ import annotations

import json
import os
import time
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatmend.litellm import ChatMend

if TYPE_CHECKING:
    from litellm.integrations.custom_logger import CustomLogger

HOOKS = (
    "async_pre_call_hook",
    "async_pre_call_deployment_hook",
    "log_pre_api_call",
    "async_post_call_success_deployment_hook",
    "async_post_call_response_headers_hook",
    "async_logging_hook",
    "async_log_success_event",
)


class Meter:
    """Adds up the CPU time of the hooks of one callback."""

    def __init__(self, callback: CustomLogger) -> None:
        """Wrap every hook in a timer."""
        self.seconds = 0.0
        self.callback = callback
        for name in HOOKS:
            hook = getattr(callback, name)
            setattr(
                callback,
                name,
                (self._time_coroutine if iscoroutinefunction(hook) else self._time_function)(hook),
            )

    def _time_function(self, hook: Any) -> Any:  # noqa: ANN401 - any function
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            start = time.thread_time()
            try:
                return hook(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - start

        return call

    def _time_coroutine(self, hook: Any) -> Any:  # noqa: ANN401 - any coroutine function
        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            start = time.thread_time()
            try:
                return await hook(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - start

        return call


def _recording_callback() -> ChatMend:
    """Return a callback that writes both times to a file after each logged call."""
    callback = ChatMend()
    meter = Meter(callback)
    log = callback.async_log_success_event
    path = Path(os.environ["CHATMEND_TEST_CALLS"])

    async def logged(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        await log(*args, **kwargs)
        calls = sum(row.calls for row in callback.usage.snapshot())
        record = {"hooks": meter.seconds, "process": time.process_time(), "calls": calls}
        new = path.with_suffix(".new")
        new.write_text(json.dumps(record))
        new.rename(path)

    setattr(callback, "async_log_success_event", logged)  # noqa: B010 - for mypy
    return callback


if "CHATMEND_TEST_CALLS" in os.environ:
    callback = _recording_callback()
