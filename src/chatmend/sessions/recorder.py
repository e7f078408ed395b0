"""Records requests without delaying them and without raising exceptions.

Adapters call ``submit``, which copies the request and returns; a thread writes it. Requests that
exceed the queue or cannot be stored are counted and logged.
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

from chatmend.sessions.conversations import Conversations, Origin, RecordedTurn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.sessions.store import SessionStore

__all__ = ["Origin", "Recorder"]

_log = logging.getLogger("chatmend.sessions")


def _to_json_value(value: Any) -> object:  # noqa: ANN401 - any value that a client sends
    """Return the fields of an SDK's message object."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    raise TypeError(type(value).__name__)


@dataclass(frozen=True, slots=True)
class _QueuedRequest:
    origin: Origin
    text: str
    """Messages, reply and request parameters as JSON: a copy that callers cannot change."""
    usage: object


class Recorder:
    """A queue that writes requests to a store. Threads and tasks may share it.

    A recorder that is not closed is flushed when Python exits.
    """

    def __init__(
        self, store: SessionStore, *, max_requests: int = 1000, max_bytes: int = 64 << 20
    ) -> None:
        """Write to ``store``; the arguments limit the unwritten requests and their JSON."""
        self.store = store
        self.lost = 0
        """The number of requests that were not recorded."""
        self.faults: Counter[str] = Counter()
        """The same by reason: ``queue full``, ``closed``, or the name of an exception."""
        self._max_requests, self._max_bytes = max_requests, max_bytes
        self._conversations = Conversations(store)
        self._reset()
        atexit.register(self._end)

    def _reset(self) -> None:
        self._turns: deque[_QueuedRequest] = deque()
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
        request_parameters: Mapping[str, Any] | None = None,
    ) -> bool:
        """Queue a request for writing; the arguments are those of ``Session.record``.

        Returns:
            Whether the request was accepted.
        """
        try:
            parts = [
                list(messages),
                reply,
                None if request_parameters is None else dict(request_parameters),
            ]
            text = json.dumps(parts, default=_to_json_value)
            return self._enqueue(_QueuedRequest(origin, text, usage))
        except Exception as error:  # noqa: BLE001 - a failed recording must not break the request
            self._count_loss(type(error).__name__)
            return False

    def _enqueue(self, turn: _QueuedRequest) -> bool:
        if self._process != os.getpid():
            self._reset()  # in a forked process; the parent writes the requests in its queue
        if self._ending:
            return self._write(turn)
        with self._changed:
            fits = (
                len(self._turns) < self._max_requests
                and self._bytes + len(turn.text) <= self._max_bytes
            )
            if fits and not self._closed:
                self._turns.append(turn)
                self._bytes += len(turn.text)
                if self._thread is None:
                    self._thread = Thread(target=self._run, name="chatmend-recorder", daemon=True)
                    self._thread.start()
                self._changed.notify_all()
                return True
        self._count_loss("closed" if fits else "queue full")
        return False

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all requests are written, or for a time limit.

        Returns:
            Whether all requests are written.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._turns and not self._busy, seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Write the queued requests within a time limit, and accept no more.

        Requests that are not written within the limit are lost.
        """
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
            self._count_loss("closed")
        if self.lost:
            reasons = ", ".join(f"{name} x{count}" for name, count in sorted(self.faults.items()))
            _log.warning("requests that chatmend did not record: %d (%s)", self.lost, reasons)

    def _end(self) -> None:
        """Close when Python exits.

        Requests that arrive later, for example from LiteLLM's logging, are written directly.
        """
        self.close()
        self._ending = not self._busy

    def _count_loss(self, reason: str) -> None:
        with self._changed:
            self.lost += 1
            self.faults[reason] += 1
            first = self.faults[reason] == 1
        if first:
            _log.warning(
                "chatmend could not record a request (%s); further ones are only counted", reason
            )

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._turns or self._closed)
                if not self._turns:
                    return
                turn = self._turns.popleft()
                self._bytes -= len(turn.text)
                self._busy = True
            self._write(turn)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _write(self, turn: _QueuedRequest) -> bool:
        messages, reply, request_parameters = json.loads(turn.text)
        try:
            self._conversations.write(
                turn.origin, RecordedTurn(messages, reply, turn.usage, request_parameters)
            )
        except Exception as error:  # noqa: BLE001 - the thread must continue with the next request
            self._conversations.forget(turn.origin)
            self._count_loss(type(error).__name__)
            return False
        return True
