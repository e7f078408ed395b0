"""Records requests as they go by, without making them wait and without breaking one.

For adapters: ``submit`` takes a copy and returns; a thread writes. What does not fit the queue, and what cannot be
stored, is counted and told, never raised.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
from collections import Counter, deque
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from chatmend.sessions.conversations import Conversations, Origin, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.sessions.store import SessionStore

__all__ = ["Origin", "Recorder"]

_log = logging.getLogger("chatmend.sessions")


def _dumped(value: Any) -> object:  # noqa: ANN401 - whatever a client sends
    """A message object of an SDK, which its client sends back as it came."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    raise TypeError(type(value).__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    origin: Origin
    text: str
    """Messages, reply and what stood beside them, as JSON: a copy that nobody changes any more."""
    usage: object


class Recorder:
    """A queue before a store. Threads and tasks may share one; one that is not closed is flushed when Python ends."""

    def __init__(self, store: SessionStore, *, most: int = 1000, most_bytes: int = 64 << 20) -> None:
        """Hold at most so many requests and characters of JSON that are not written yet."""
        self.store = store
        self.lost = 0
        """Requests that were not recorded, for whatever reason."""
        self.faults: Counter[str] = Counter()
        """How often what was the reason: ``queue full``, ``closed``, or the name of an exception."""
        self._most, self._most_bytes = most, most_bytes
        self._conversations = Conversations(store)
        self._begin()
        atexit.register(self._end)

    def _begin(self) -> None:
        self._turns: deque[_Waiting] = deque()
        self._bytes = 0
        self._busy = self._closed = self._ending = False
        self._changed = Condition()
        self._thread: Thread | None = None
        self._process = os.getpid()

    def submit(
        self,
        origin: Origin,
        messages: Sequence[Any],
        *,
        reply: object = None,
        usage: object = None,
        beside: Mapping[str, Any] | None = None,
    ) -> bool:
        """Take a request to be written as ``Session.record`` would; whether there was room for it."""
        try:
            parts = [list(messages), reply, None if beside is None else dict(beside)]
            text = json.dumps(parts, default=_dumped)
            return self._put(_Waiting(origin, text, usage))
        except Exception as error:  # noqa: BLE001 - a request is worth more than its record
            self._lose(type(error).__name__)
            return False

    def _put(self, turn: _Waiting) -> bool:
        if self._process != os.getpid():
            self._begin()  # in a forked process: the parent writes what it holds
        if self._ending:
            return self._written(turn)
        with self._changed:
            fits = len(self._turns) < self._most and self._bytes + len(turn.text) <= self._most_bytes
            if fits and not self._closed:
                self._turns.append(turn)
                self._bytes += len(turn.text)
                if self._thread is None:
                    self._thread = Thread(target=self._run, name="chatmend-recorder", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
                return True
        self._lose("closed" if fits else "queue full")
        return False

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all is written, or so many seconds; whether all is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._turns and not self._busy, seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Write what is left, for at most so many seconds, and take nothing more. What is not written then is lost."""
        atexit.unregister(self._end)
        if self._process != os.getpid():
            return
        self.flush(seconds)
        with self._changed:
            self._closed = True
            left = len(self._turns)
            self._turns.clear()
            self._changed.notify_all()
        for _ in range(left):
            self._lose("closed")
        if self.lost:
            reasons = ", ".join(f"{name} x{count}" for name, count in sorted(self.faults.items()))
            _log.warning("chatmend did not record %d requests: %s", self.lost, reasons)

    def _end(self) -> None:
        """Python ends. What others still hand over while they end, LiteLLM's log among them, is written at once."""
        self.close()
        self._ending = not self._busy

    def _lose(self, reason: str) -> None:
        with self._changed:
            self.lost += 1
            self.faults[reason] += 1
            first = self.faults[reason] == 1
        if first:
            _log.warning("chatmend could not record a request (%s); further ones are only counted", reason)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._turns or self._closed)
                if not self._turns:
                    return
                turn = self._turns.popleft()
                self._bytes -= len(turn.text)
                self._busy = True
            self._written(turn)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _written(self, turn: _Waiting) -> bool:
        messages, reply, beside = json.loads(turn.text)
        try:
            self._conversations.write(turn.origin, Turn(messages, reply, turn.usage, beside))
        except Exception as error:  # noqa: BLE001 - the next request may be stored
            self._conversations.forget(turn.origin)
            self._lose(type(error).__name__)
            return False
        return True
