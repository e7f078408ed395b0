"""Finds the session that a recorded request continues."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from chatmend.errors import SessionConflictError, SessionDivergedError

if TYPE_CHECKING:
    from chatmend.sessions.session import Session
    from chatmend.sessions.store import SessionStore

_MAX_AGENTS, _MAX_SESSIONS = 256, 16
"""Limits of what is kept in memory: agents, and sessions of each agent.

Other sessions are loaded again when they continue.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """The sender of a request, and its target."""

    key: tuple[str, ...]
    """First the authenticated sender, such as a team or the hash of a key, then client values.

    Client values, such as the name of a session or of an agent, can only extend the first part.
    """
    target: str = ""
    """Provider and model, as LiteLLM names them."""
    dispatcher: str = ""
    dialect: str = ""
    """The wire format of the messages, if it is known."""
    named: bool = True
    """Whether the key identifies one conversation. If not, its messages so far identify it."""

    @property
    def agent(self) -> str:
        """The key and the target as an agent name, which is different for every key.

        Each target has a separate session, because its messages are repaired for it and cached by
        its provider.
        """
        key = (
            "/".join(quote(part, safe="-_. ", errors="surrogatepass") for part in self.key)
            or "main"
        )
        return f"{key}@{self.target}" if self.target else key


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A sent request and its reply: the arguments of ``Session.record``."""

    messages: list[Any]
    reply: Any = None
    usage: object = None
    request_parameters: dict[str, Any] | None = None

    def record(self, session: Session) -> None:
        """Write the turn to a session.

        Raises:
            SessionDivergedError, SessionConflictError, SessionWriteError, TranscriptError: see
                ``Session.record``.
        """
        session.record(
            self.messages,
            reply=self.reply,
            usage=self.usage,
            request_parameters=self.request_parameters,
        )


@dataclass(frozen=True, slots=True)
class _OpenSession:
    """A session that may be continued, and the reply at its end, if it is known."""

    session: Session
    reply: Any = None

    def is_continued_by(self, messages: list[Any]) -> bool:
        """Whether the messages contain the reply at the end of the session.

        Two conversations can begin with the same question.
        """
        index = self.session.header.cache_boundary
        if self.reply is None or not index:
            return True
        return index < len(messages) and _content_of(messages[index]) == _content_of(self.reply)


def _content_of(message: Any) -> Any:  # noqa: ANN401 - as sent by a client
    """Return the content of a message, the part that clients send back unchanged."""
    first = message[0] if isinstance(message, list) and message else message
    return (first.get("content") or first.get("parts") or None) if isinstance(first, dict) else None


class Conversations:
    """Writes turns to the sessions that they continue. Use it from one thread at a time."""

    def __init__(self, store: SessionStore) -> None:
        """Use the sessions of ``store``, which is not accessed before the first turn."""
        self._store = store
        self._open: OrderedDict[str, list[_OpenSession]] = OrderedDict()

    def write(self, origin: Origin, turn: RecordedTurn) -> None:
        """Write a turn to the session that it continues, or to a new session.

        Raises:
            SessionError: the session could not be stored.
            TranscriptError: a message cannot be stored.
        """
        known = self._open_sessions(origin)
        for one in reversed(known):
            if (origin.named or one.is_continued_by(turn.messages)) and (
                session := self._try_record(one.session, turn)
            ):
                known.remove(one)
                break
        else:
            session = known[-1].session.go_on() if known and origin.named else self._new(origin)
            turn.record(session)
        known.append(_OpenSession(session, turn.reply))
        del known[:-_MAX_SESSIONS]

    def forget(self, origin: Origin) -> None:
        """Discard the sessions in memory after an error, so that they are loaded again."""
        self._open.pop(origin.agent, None)

    def _try_record(self, session: Session, turn: RecordedTurn) -> Session | None:
        """Write the turn to the session and return it; None if the turn does not continue it."""
        try:
            try:
                turn.record(session)
            except SessionConflictError:  # another process has continued it
                session = self._store.load(session.path)
                turn.record(session)
        except SessionDivergedError:
            return None
        return session

    def _open_sessions(self, origin: Origin) -> list[_OpenSession]:
        agent = origin.agent
        if agent not in self._open:
            latest = self._store.latest(agent)
            self._open[agent] = [] if latest is None else [_OpenSession(latest)]
            if len(self._open) > _MAX_AGENTS:
                self._open.popitem(last=False)
        self._open.move_to_end(agent)
        return self._open[agent]

    def _new(self, origin: Origin) -> Session:
        return self._store.start(
            origin.agent, target=origin.target, dispatcher=origin.dispatcher, dialect=origin.dialect
        )
