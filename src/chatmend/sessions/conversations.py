"""Which session a recorded request goes on with."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from chatmend.errors import SessionConflictError, SessionDivergedError

if TYPE_CHECKING:
    from chatmend.sessions.session import Session
    from chatmend.sessions.store import SessionStore

_AGENTS, _EACH = 256, 16
"""So many agents, and so many sessions of each, are kept in memory; others are loaded again when they go on."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose request it was and where it went."""

    key: tuple[str, ...]
    """Who was authenticated first, such as a hash of the key or a team, then what the client says: a session's id, an
    agent. What comes later can only extend what stands before it."""
    target: str = ""
    """Provider and model, as LiteLLM names them."""
    dispatcher: str = ""
    dialect: str = ""
    """The wire format of the messages, if it is known."""
    named: bool = True
    """Whether the key means one conversation. Otherwise one is known by what was said in it so far."""

    @property
    def agent(self) -> str:
        """Key and target as the name of an agent; two keys never have the same.

        What is sent to another provider is repaired for it and cached there: a session of its own.
        """
        key = "/".join(quote(part, safe="-_. ", errors="surrogatepass") for part in self.key) or "main"
        return f"{key}@{self.target}" if self.target else key


@dataclass(frozen=True, slots=True)
class Turn:
    """One request as it was sent, and what came back: the arguments of ``Session.record``."""

    messages: list[Any]
    reply: Any = None
    usage: object = None
    beside: dict[str, Any] | None = None

    def record(self, session: Session) -> None:
        """Write the turn; raises what ``Session.record`` raises."""
        session.record(self.messages, reply=self.reply, usage=self.usage, beside=self.beside)


@dataclass(frozen=True, slots=True)
class _Open:
    """A session that may go on, and the reply that it ends with, if it is known."""

    session: Session
    reply: Any = None

    def is_answered_in(self, messages: list[Any]) -> bool:
        """Whether the messages go on where the session ended: two conversations may begin with the same question."""
        at = self.session.header.cache_boundary
        if self.reply is None or not at:
            return True
        return at < len(messages) and _words(messages[at]) == _words(self.reply)


def _words(message: Any) -> Any:  # noqa: ANN401 - whatever was sent
    """What a message says, which a client sends back as it came, whatever else it leaves out."""
    said = message[0] if isinstance(message, list) and message else message
    return (said.get("content") or said.get("parts") or None) if isinstance(said, dict) else None


class Conversations:
    """Writes turns to the sessions that they belong to. For one thread at a time."""

    def __init__(self, store: SessionStore) -> None:
        """Nothing is looked up before the first turn."""
        self._store = store
        self._open: OrderedDict[str, list[_Open]] = OrderedDict()

    def write(self, origin: Origin, turn: Turn) -> None:
        """Write a turn to the session that it goes on with, or to a new one.

        Raises:
            SessionError: it could not be stored.
            TranscriptError: a message cannot be stored.
        """
        known = self._known(origin)
        for one in reversed(known):
            if (origin.named or one.is_answered_in(turn.messages)) and (session := self._gone_on(one.session, turn)):
                known.remove(one)
                break
        else:
            session = known[-1].session.go_on() if known and origin.named else self._new(origin)
            turn.record(session)
        known.append(_Open(session, turn.reply))
        del known[:-_EACH]

    def forget(self, origin: Origin) -> None:
        """Look the sessions up again, after something went wrong."""
        self._open.pop(origin.agent, None)

    def _gone_on(self, session: Session, turn: Turn) -> Session | None:
        """The session with the turn written to it; None if the turn does not begin with what was sent in it."""
        try:
            try:
                turn.record(session)
            except SessionConflictError:  # another process went on with it
                session = self._store.load(session.path)
                turn.record(session)
        except SessionDivergedError:
            return None
        return session

    def _known(self, origin: Origin) -> list[_Open]:
        agent = origin.agent
        if agent not in self._open:
            latest = self._store.latest(agent)
            self._open[agent] = [] if latest is None else [_Open(latest)]
            if len(self._open) > _AGENTS:
                self._open.popitem(last=False)
        self._open.move_to_end(agent)
        return self._open[agent]

    def _new(self, origin: Origin) -> Session:
        return self._store.start(
            origin.agent, target=origin.target, dispatcher=origin.dispatcher, dialect=origin.dialect
        )
