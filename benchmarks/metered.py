"""``chatmend.litellm.ChatMend`` with a meter: the CPU time inside our hooks, beside that of the whole process."""

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
    """Adds up what the hooks of one callback take."""

    def __init__(self, callback: CustomLogger) -> None:
        """Put a watch around every hook."""
        self.seconds = 0.0
        self.callback = callback
        for name in HOOKS:
            hook = getattr(callback, name)
            setattr(callback, name, (self._awaited if iscoroutinefunction(hook) else self._called)(hook))

    def _called(self, hook: Any) -> Any:  # noqa: ANN401 - any function
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            start = time.thread_time()
            try:
                return hook(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - start

        return call

    def _awaited(self, hook: Any) -> Any:  # noqa: ANN401 - any coroutine function
        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            start = time.thread_time()
            try:
                return await hook(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - start

        return call


def _told() -> ChatMend:
    """For a proxy: it writes both times into a file after each call that was logged."""
    callback = ChatMend()
    meter = Meter(callback)
    log = callback.async_log_success_event
    path = Path(os.environ["CHATMEND_TEST_CALLS"])

    async def logged(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        await log(*args, **kwargs)
        calls = sum(row.calls for row in callback.usage.snapshot())
        told = {"hooks": meter.seconds, "process": time.process_time(), "calls": calls}
        new = path.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.rename(path)

    setattr(callback, "async_log_success_event", logged)  # noqa: B010 - mypy knows it for a method
    return callback


if "CHATMEND_TEST_CALLS" in os.environ:
    callback = _told()
