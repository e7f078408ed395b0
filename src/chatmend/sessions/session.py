"""A transcript kept over time: what was sent is what is stored, and what is stored is what is sent again."""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from chatmend.errors import SessionDivergedError, SessionError
from chatmend.sessions.document import Document, beside_block
from chatmend.sessions.header import Header
from chatmend.sessions.markers import with_markers
from chatmend.sessions.rendering import first_difference, rendered
from chatmend.sessions.repairs import findings, mended
from chatmend.usage import Usage, UsageLedger, normalize_usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmend.changes import Change
    from chatmend.policy import Policy
    from chatmend.repair import Repaired
    from chatmend.sessions.store import SessionStore
    from chatmend.usage import Row


class Session:
    """One conversation of one agent, in one file. A store makes it: ``start``, ``load`` or ``latest``.

    Everything is written before a method returns, or an exception is raised and the session is what it was. Threads may
    share a session. Processes may not go on with one at the same time: the later one gets a `SessionConflictError`.
    """

    def __init__(self, store: SessionStore, path: str, stored: tuple[Document, str], messages: list[Any]) -> None:
        """A store calls this: with the document and its version, and the messages that were read from it."""
        self.path = path
        """Where it is stored, below the root of the store: ``sessions/21112026/main_1.md``."""
        self._store = store
        self._document, self._version = stored
        self._read: list[Any] | None = messages
        self._lock = RLock()

    def __repr__(self) -> str:
        """Where it is and how long, and no word of what was said."""
        return f"Session({self.path!r}, {self.header.messages} messages)"

    @property
    def header(self) -> Header:
        """What the file's header says."""
        return self._document.header

    @property
    def agent(self) -> str:
        """Whose session it is."""
        return self.header.agent

    @property
    def target(self) -> str:
        """Provider and model as one name, as LiteLLM writes it."""
        return "/".join(filter(None, (self.header.provider, self.header.model))) or "other"

    @property
    def messages(self) -> list[Any]:
        """What was sent in the last request, cache markers included, and what was appended since; made anew."""
        with self._lock:
            messages, self._read = self._read, None
            document = self._document
        return with_markers(document.messages() if messages is None else messages, document.header.markers)

    @property
    def beside(self) -> dict[str, Any]:
        """What the request had beside its messages: ``system``, ``tools``, ``thinking``, ...; made anew each time."""
        return self._document.request()

    @property
    def usage(self) -> Row:
        """What all calls of the session used together."""
        return self.header.used

    @property
    def findings(self) -> tuple[Change, ...]:
        """What the target would refuse in the messages as they are stored; nothing is changed.

        That a session ends with a reply, or waits for results, is no finding.
        """
        return findings(self.messages, self.target, **self._judged())

    def _judged(self) -> dict[str, Any]:
        """What of the rest of the request a repair looks at."""
        beside = self.beside
        known: dict[str, Any] = {key: beside[key] for key in ("system", "tools", "thinking") if key in beside}
        return {"dialect": self.header.dialect or None, **known}

    def extend(self, messages: Sequence[Any], *, policy: Policy | None = None) -> Repaired:
        """The stored messages and these behind them, repaired for the target: what to send next. Nothing is written.

        Where the repair moved something beside the messages (``.system``, ``.tools``), send that, too, and tell
        ``record`` with ``beside=``.
        """
        return mended([*self.messages, *messages], self.target, policy=policy, **self._judged())

    def record(
        self,
        messages: Sequence[Any],
        *,
        reply: object = None,
        usage: object = None,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one turn.

        Args:
            messages: all messages of the request, as they were sent. They begin with what was sent before.
            reply: the message that came back, as it will be sent in the next request, or a list of items that came back
                one by one (OpenAI's Responses API). If another one is sent then, that one counts.
            usage: a response or an account of tokens, of any provider, as `normalize_usage` takes it.
            beside: what the request had beside its messages; as it was, if not given.

        Raises:
            SessionDivergedError: the messages do not begin with what was sent before, cache markers aside.
            SessionConflictError: another writer went on with the session.
            SessionWriteError: the disk or the bucket did not take it.
            TranscriptError: a message cannot be stored.
        """
        with self._lock:
            blocks, markers = rendered(messages)
            sent = self._document.blocks[: self.header.cache_boundary]
            if tuple(blocks[: len(sent)]) != sent:
                raise SessionDivergedError(self.path, first_difference(blocks, sent))
            account = self._account(usage)
            header = replace(
                self.header,
                cache_boundary=len(blocks),
                turns=self.header.turns + 1,
                markers=tuple(markers),
                used=self._with(account),
            )
            if reply is not None:
                blocks += rendered(reply if isinstance(reply, list) else [reply])[0]
            self._save(blocks, header, None if beside is None else beside_block(beside))
            if account is not None:
                self._store.ledger.add(account, agent=self.agent, session=self.path)

    def append(self, *messages: object) -> None:
        """Write messages behind the others. They count as not sent: the next ``record`` says what was.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``record``.
        """
        with self._lock:
            self._save([*self._document.blocks, *rendered(messages)[0]], self.header, None)

    def rewrite(self, messages: Sequence[Any]) -> None:
        """Put other messages in the place of the stored ones: for a repair of a stored conversation, on request only.

        What they share with those that were sent still counts as sent.

        Raises:
            SessionConflictError, SessionWriteError, TranscriptError: see ``record``.
        """
        with self._lock:
            blocks, markers = rendered(messages)
            sent = self._document.blocks[: self.header.cache_boundary]
            header = replace(self.header, cache_boundary=first_difference(blocks, sent), markers=tuple(markers))
            self._save(blocks, header, None)

    def child(self, agent: str) -> Session:
        """A session of a sub-agent: empty, with usage of its own."""
        return self._store.create(Document(self._begun(agent, parent=self.path)))

    def fork(self, agent: str | None = None) -> Session:
        """A session that begins with all that this one holds, so that its first call reads it from the cache."""
        old = self.header
        kept = {"messages": old.messages, "cache_boundary": old.cache_boundary, "markers": old.markers}
        return self._store.create(replace(self._document, header=self._begun(agent, parent=self.path, **kept)))

    def go_on(self) -> Session:
        """An empty session of the same agent, for one whose history was cut or rewritten and so cannot go on."""
        return self._store.create(Document(self._begun(None, parent=self.header.parent, continues=self.path)))

    def _begun(self, agent: str | None, **more: Any) -> Header:  # noqa: ANN401 - fields of the header
        old, now = self.header, self._store.now()
        agent = agent or old.agent
        return Header(now, now, agent, old.dispatcher, old.provider, old.model, old.dialect, **more)

    def _account(self, usage: object) -> Usage | None:
        if usage is None or isinstance(usage, Usage):
            return usage
        return normalize_usage(usage, self.header.provider or None)

    def _with(self, account: Usage | None) -> Row:
        """The sum of all calls and one more, without where its numbers were read from, which only one call can tell."""
        if account is None:
            return self.usage
        ledger = UsageLedger(price=self._store.ledger.price)
        ledger.add(account)
        row = self.usage + ledger.snapshot()[0]
        return replace(row, keys={}, usage=replace(row.usage, sources={}, unread=()))

    def _save(self, blocks: Sequence[bytes], header: Header, beside: bytes | None) -> None:
        header = replace(header, messages=len(blocks), updated=self._store.now())
        document = Document(header, tuple(blocks), self._document.beside if beside is None else beside)
        try:
            self._version = self._store.storage.replace(self.path, document.render(), self._version)
        except FileNotFoundError as error:
            raise SessionError(f"{self.path}: the file is gone") from error
        self._document, self._read = document, None
