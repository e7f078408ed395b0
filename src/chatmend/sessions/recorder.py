"""Records requests as they go by, without making them wait and without breaking one.

For adapters: ``submit`` takes a copy and returns; a thread writes. What does not fit the queue, and what cannot be
stored, is counted and told, never raised.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from chatmend.errors import SessionConflictError, SessionDivergedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.sessions.session import Session
    from chatmend.sessions.store import SessionStore

_log = logging.getLogger("chatmend.sessions")
_OPEN = 256
"""Sessions that are kept in memory; others are loaded again when they go on."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose request it was and where it went."""

    key: tuple[str, ...]
    """Who was authenticated first, such as a hash of the key or a team, then what the client says: a session's id, an
    agent. What comes later can only extend what stands before it."""
    target: str = ""
    """Provider and model, as LiteLLM names them."""
    dispatcher: str = ""

    @property
    def agent(self) -> str:
        """Key and target as the name of an agent; two keys never have the same.

        What is sent to another provider is repaired for it and cached there: a session of its own.
        """
        key = "/".join(quote(part, safe="-_. ", errors="surrogatepass") for part in self.key) or "main"
        return f"{key}@{self.target}" if self.target else key


@dataclass(frozen=True, slots=True)
class _Turn:
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
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._begin()
        atexit.register(self.close)

    def _begin(self) -> None:
        self._turns: deque[_Turn] = deque()
        self._bytes = 0
        self._busy = self._closed = False
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
            text = json.dumps([list(messages), reply, None if beside is None else dict(beside)])
            return self._put(_Turn(origin, text, usage))
        except Exception as error:  # noqa: BLE001 - a request is worth more than its record
            self._lose(type(error).__name__)
            return False

    def _put(self, turn: _Turn) -> bool:
        if self._process != os.getpid():
            self._begin()  # in a forked process: the parent writes what it holds
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
        atexit.unregister(self.close)
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
            try:
                self._write(turn)
            except Exception as error:  # noqa: BLE001 - the next request may be stored
                self._sessions.pop(turn.origin.agent, None)
                self._lose(type(error).__name__)
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _write(self, turn: _Turn) -> None:
        session = self._session(turn.origin)
        try:
            self._record(session, turn)
        except SessionDivergedError:
            self._keep(session.go_on(), turn)
        except SessionConflictError:
            self._keep(self.store.load(session.path), turn)

    def _keep(self, session: Session, turn: _Turn) -> None:
        self._sessions[turn.origin.agent] = session
        self._record(session, turn)

    @staticmethod
    def _record(session: Session, turn: _Turn) -> None:
        messages, reply, beside = json.loads(turn.text)
        session.record(messages, reply=reply, usage=turn.usage, beside=beside)

    def _session(self, origin: Origin) -> Session:
        """The session that goes on with this key: in memory, or the latest in the store, or a new one."""
        agent = origin.agent
        session = self._sessions.pop(agent, None) or self.store.latest(agent)
        if session is None:
            session = self.store.start(agent, target=origin.target, dispatcher=origin.dispatcher)
        self._sessions[agent] = session
        if len(self._sessions) > _OPEN:
            self._sessions.popitem(last=False)
        return session
